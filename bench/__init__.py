"""The benchmarks behind `./dev bench`: benches/ has what is measured, stand/ how it is measured."""
