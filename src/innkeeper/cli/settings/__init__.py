"""A user's settings: the configuration file, stored keys, shell completion."""
