"""The inspector in a real browser."""
