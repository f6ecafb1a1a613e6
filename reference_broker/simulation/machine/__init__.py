"""The simulated machine: the node that runs the real broker, its network, pumps and faults.

Law: a fault happens between two inputs of the core, never inside of one. Read ``machine.py`` first.
"""
