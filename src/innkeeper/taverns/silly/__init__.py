"""The SillyTavern-compatible tavern."""
