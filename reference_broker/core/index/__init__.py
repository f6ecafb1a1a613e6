"""The position of each message of a queue, in arrays, and the window of contents in memory.

Law: no Python object per ready message. Read ``index.py`` first.
"""
