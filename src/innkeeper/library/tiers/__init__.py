"""Content tiers in the database: the operator's policy, rules and lists, and the moderation of what is saved."""
