"""Publish and ack of all messages of one read together, in runs: the fast way beside that of
``methods/`` and ``channel/``, which take one message at a time.

Law: a shortcut has a plain path beside it, and a test that compares the two. Read ``publish.py``
first.
"""
