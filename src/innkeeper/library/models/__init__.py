"""Models, providers and negative prompts: their rows, what is known of a model, and how it measures a text."""
