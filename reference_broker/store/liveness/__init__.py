"""The books of the segments: what is live in each, what was lost, which may go.

Law: a segment may be deleted only when this room says so. Read ``liveness.py`` first.
"""
