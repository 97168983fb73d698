"""An answer as each surface writes it: whole, and as the events of its stream. The words are the model's own in all of them."""
