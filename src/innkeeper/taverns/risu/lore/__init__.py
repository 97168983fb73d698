"""RisuAI's lorebook: its entries with decorators, its passes, its budget and order, and the decision about every entry."""
