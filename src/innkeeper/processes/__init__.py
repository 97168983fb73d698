"""The one kind of child process: how it is started, talked to, limited and ended."""
