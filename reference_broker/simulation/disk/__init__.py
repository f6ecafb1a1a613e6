"""The simulated disk: what is written, what is synced, and what a power loss leaves.

Law: only what was synced is sure to be there after a power loss. Read ``disk.py`` first.
"""
