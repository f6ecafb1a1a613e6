"""Fakes for tests and fuzz targets: a broker, a queue and a log alone, with recorders beside them.

No faults and no time of their own: who wants those takes :mod:`reference_broker.simulation`. Read
``lone_broker.py`` first.
"""
