"""The vault: encrypted secrets and the keys that open them."""
