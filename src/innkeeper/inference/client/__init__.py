"""Clients of providers: where a provider is, what goes over the wire, answers decoded whole or as a stream."""
