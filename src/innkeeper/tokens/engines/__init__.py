"""What counts tokens: tokenizers, estimates and servers, each behind the protocol `Engine`."""
