"""Structured directives: their envelope, how it is read and checked, patch operations. The runner is in `innkeeper.inference.run`."""
