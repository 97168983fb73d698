"""The processes that compute calls: how they are started, what they do, and whose turn it is."""
