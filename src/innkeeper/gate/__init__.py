"""The gate: reads ages and contexts in texts, and says which of them may pass, for which audience."""
