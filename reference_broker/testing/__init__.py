"""Fakes for tests and fuzz targets: a broker, a queue and a log alone, and a journal that records.

No faults and no time of their own: who wants those takes :mod:`reference_broker.simulation`. Read
``lone_broker.py`` first.
"""
