"""The pure-inference worker: it executes the messages that it is sent, and proves it."""
