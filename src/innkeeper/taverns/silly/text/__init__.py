"""Text completion: one text from a story string, the chat and instruct sequences. Each module tells the steps it holds."""
