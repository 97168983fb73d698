"""Tools: definitions, calls, arguments, results, and repairs that providers need. The loop: `innkeeper.inference.run`."""
