"""Taverns: each an ordered tuple of steps that turns assets and a chat into a plan."""
