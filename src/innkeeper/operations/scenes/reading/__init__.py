"""What a message tells of a scene, read by declared rules."""
