"""The tables of models: their tokenizers, the vocabularies, and the estimates by family."""
