"""Spellings: how each program writes a lorebook, read into `LorebookEntry` and written back."""
