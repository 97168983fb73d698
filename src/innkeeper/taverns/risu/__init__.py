"""RisuAI's way of building prompts: its lorebook, the cards of its prompt template, its budget, and its files."""
