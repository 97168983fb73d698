"""The workspace: opened files, their working copies, what edits do to them, and how they are saved."""
