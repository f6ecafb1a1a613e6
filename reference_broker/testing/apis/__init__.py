"""The management APIs of several nodes in one process, and a client of an application there."""
