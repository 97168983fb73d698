"""What is known of the service from outside: a line a call, counters, spans. None has a prompt, an answer or a key in it."""
