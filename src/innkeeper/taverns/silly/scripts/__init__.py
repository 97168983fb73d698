"""Regex scripts: their options, their sources, and their effect on lines and lore."""
