"""Text completion: one text from a story string, the chat and instruct sequences. Each module names its steps."""
