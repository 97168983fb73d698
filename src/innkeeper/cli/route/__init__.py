"""Commands about where requests go."""
