"""A request for an answer in one shape, whichever surface it came by, and the body of it that a provider gets."""
