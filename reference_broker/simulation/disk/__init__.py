"""The simulated disk: written and synced data, and the rest that a power loss leaves.

Law: only what was synced is sure to be there after a power loss. Read ``disk.py`` first.
"""
