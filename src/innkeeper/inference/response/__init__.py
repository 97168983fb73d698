"""What a model answered, in one shape for every provider: items, events, the fold of events, and views for callers."""
