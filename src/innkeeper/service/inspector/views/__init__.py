"""The views of the inspector: what its page is given and gives back, as structs."""
