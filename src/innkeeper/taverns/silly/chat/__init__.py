"""Chat completion: the preset's prompts, their messages, the room that they have, and how it is filled."""
