"""Commands of tasks: the requirement document's functions, in this process or at a service."""
