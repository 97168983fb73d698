"""Commands that talk with a model: a chat in the terminal, the demo, the weights of local models."""
