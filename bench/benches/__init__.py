"""One module per benchmark; `run(session)` returns a Result."""
