"""Benchmarks of jobs."""
