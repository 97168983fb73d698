"""Anthropic's surface: messages, and how many tokens they are."""
