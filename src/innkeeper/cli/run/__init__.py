"""Commands that run the prompt service of the document."""
