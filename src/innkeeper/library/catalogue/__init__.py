"""The catalogue that requests are answered from: how it is resolved, where it is read, and how it stays current."""
