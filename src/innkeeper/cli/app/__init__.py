"""What all commands share: the root command and its table, options, terminal output; and the commands of the service."""
