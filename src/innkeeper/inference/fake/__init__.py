"""Fake providers that answer by a script, for tests and demos."""
