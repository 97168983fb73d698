"""Lines: the messages of a chat, the text typed into it, their media, and the next speaker."""
