"""Runners: from a chat to an answer, one request at a time, with tools, or as directives."""
