"""``innkeeper mcp``: cards, lore and prompts for assistants, over the Model Context Protocol."""
