"""Virtual time: the order of events, and the marks that tell messages apart.

Law: two events of one time happen in the order in which they were scheduled. Read ``events.py``
first.
"""
