"""The library: what prompts exist, which one is chosen, what fills it, how long it may be and in which content tier."""
