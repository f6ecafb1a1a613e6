"""The port to the store: what the core asks of the log, and the keys of the definitions in it.

Law: the core says what must be on disk, and is told how far the disk has come; it never sees a
file. Read ``journal.py`` first.
"""
