"""One file for each thing that is measured; `run(session)` gives a Result."""
