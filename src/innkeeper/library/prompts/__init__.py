"""The prompt service of the document: a tool by its name, its secret, a model, one canonical response."""
