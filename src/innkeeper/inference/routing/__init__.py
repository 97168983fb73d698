"""Where a request goes: routes, which name a model at a provider, and what answers by them."""
