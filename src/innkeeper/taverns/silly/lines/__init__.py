"""Lines: the messages of a chat, what is typed into it, their media, and who speaks next."""
