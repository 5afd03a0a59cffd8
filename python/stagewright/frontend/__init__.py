"""Frontends: each turns a framework's training step into a module with one function, the step."""
