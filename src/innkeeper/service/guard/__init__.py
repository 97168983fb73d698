"""Who may call and how much: origins, keys, what a key is granted, quotas, and how much is done at once."""
