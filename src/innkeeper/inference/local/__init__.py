"""Models that run in this process: their weights on this machine, and a client with the face of any provider's."""
