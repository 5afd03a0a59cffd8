"""The benchmarks behind `./dev bench`: benches/ has what is measured, harness/ how it is measured."""
