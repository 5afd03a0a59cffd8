"""What a run was, from the lines of JSON that it wrote: one page of HTML, and events for TensorBoard."""
