"""Dialects of chat providers, one module a family."""
