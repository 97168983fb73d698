"""Structured directives: the envelope, how it is read and checked, patch operations. The runner: `innkeeper.inference.run`."""
