"""The functions of CBS, a module for each kind, and the table of them all."""
