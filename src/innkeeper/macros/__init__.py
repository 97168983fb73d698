"""Macros: one scanner, syntax tree and evaluator for the ``{{…}}`` languages of the taverns, and a pack per language."""
