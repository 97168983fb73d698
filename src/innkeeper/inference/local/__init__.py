"""Models that run on this machine, in processes of their own: their weights, and a client with the face of any provider's."""
