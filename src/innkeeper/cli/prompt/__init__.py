"""Commands that build, explain and check prompts and the files they are made of."""
