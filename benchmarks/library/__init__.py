"""Benchmarks of the library."""
