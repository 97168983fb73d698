"""Import and export of what an operator maintains, and templates as files."""
