"""The command line: one module per command group, imported only when its command is run."""

from innkeeper.cli.app.root import main

__all__ = ["main"]
