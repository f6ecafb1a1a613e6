"""A queue, and the features it is composed of: expiry, length limit, delays, leases, dispatch.

Law: only this room writes to a ``Queue``, and a feature that a queue does not use costs it nothing.
Read ``queue.py`` first, then ``enqueue.py`` and ``dispatch.py``.
"""
