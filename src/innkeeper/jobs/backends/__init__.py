"""Backends: fal, Replicate, servers of one's own, and the tiny one in this process; and the wire by which they are called."""
