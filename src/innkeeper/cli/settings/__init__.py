"""What a user has settled once: the configuration file, stored keys, completion in the shell."""
