"""The implementation of ./dev: set-up, build, tests, demo, benchmarks and documents. Python 3.11, standard library only."""
