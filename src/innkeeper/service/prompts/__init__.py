"""Prompts as a service: plans of requests and of profiles, and profiles as models behind the other doors."""
