"""The scenario that is drawn from a seed: clients, queues, sizes, faults to come.

Law: all randomness of a run starts here. Read ``scenario.py`` first.
"""
