"""The session: the process that holds a workspace and builds in it, and the other end of its pipe."""
