"""Reading the state of a scene from messages, by declared rules."""
