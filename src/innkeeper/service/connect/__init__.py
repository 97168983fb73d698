"""The document's prompt service for RPC clients: Connect over HTTP, gRPC on a port of its own, one meaning for both."""
