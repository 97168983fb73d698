"""The inspector: a page on which a prompt is seen, changed and understood while its files are edited."""
