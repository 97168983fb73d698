"""Regex scripts: what one is asked to do, which sources may, and what lines and lore become."""
