"""Shared parts of all commands: root command, table of commands, options, terminal output; and the service's commands."""
