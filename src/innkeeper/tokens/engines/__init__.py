"""Engines that count tokens: tokenizers, estimates and servers, each behind the protocol `Engine`."""
