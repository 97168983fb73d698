"""Commands of the library: templates, catalogue rows, tiers, secrets, the database and its logs."""
