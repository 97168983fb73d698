"""What is known of models: their tokenizers, the vocabularies, and what estimates cost by family."""
