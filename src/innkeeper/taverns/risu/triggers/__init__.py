"""Triggers of RisuAI: conditions and effects that a card runs when a prompt is made, a message comes or a text is shown."""
