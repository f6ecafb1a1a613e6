"""The simulated clients, their workload, and the features that have a workload of their own.

Law: a client knows what it was promised, and nothing of the broker's inside. Read ``client.py``
first.
"""
