"""Disk operations as values, the files that are there, and damage found in them.

Law: an operation is carried out by whoever has a disk (the runtime's threads, the simulator, a
recording disk); nothing in the store opens a file. Read ``ports.py`` first.
"""
