"""Measures of speed. They live here and not in tests, since a timed assert fails on a busy machine."""
