"""Scenes: from a moment of a conversation to a prompt with numbered figures, and to the job that makes its picture."""
