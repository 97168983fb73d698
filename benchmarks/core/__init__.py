"""Benchmarks of the engine's floors, and the tools that fit their tables."""
