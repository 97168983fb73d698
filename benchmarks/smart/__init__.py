"""Benchmarks of the smart tavern and its macros."""
