"""Publish and ack of one read, in runs: ``methods/`` and ``channel/`` do it one message at a time.

Law: a shortcut has a plain path beside it, and a test that compares the two. Read ``publish.py``
first.
"""
