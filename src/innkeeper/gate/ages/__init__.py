"""Ages in texts: what a mention can mean, those that cues tell, and those that signs tell."""
