"""Adapters: one a wire protocol. Each knows an address's path, its key's header, and how answers are written there."""
