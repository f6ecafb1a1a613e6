"""Paths of exchanges, queues, bindings, connections, and of the node.

Law: an answer to a change leaves when the change is on disk. Read ``queues.py`` first.
"""
