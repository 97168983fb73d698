"""Benchmarks of the silly tavern beside what its peers were measured at."""
