"""The risu tavern."""
