"""OpenAI's surface: chat completions, Responses, text completions, embeddings and the list of models."""
