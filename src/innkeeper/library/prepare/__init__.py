"""From a request to a prompt that is ready to be sent."""
