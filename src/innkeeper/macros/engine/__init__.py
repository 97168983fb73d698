"""The macro engine: grammar, syntax tree, evaluator and environment, with their limits and errors."""
