"""The macros of RisuAI (CBS): arithmetic and the numbers drawn from a text."""
