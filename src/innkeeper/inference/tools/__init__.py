"""Tools: their definitions, calls, arguments and results, and the repairs that providers need. The loop is in `innkeeper.inference.run`."""
