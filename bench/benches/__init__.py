"""One file per benchmark; `run(session)` returns a Result."""
