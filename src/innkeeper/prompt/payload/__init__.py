"""Payloads: the contract between a plan and what one provider gets, and where each character of that came from."""
