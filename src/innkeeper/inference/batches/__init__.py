"""Batches: many requests that a provider answers within a day, for half the price."""
