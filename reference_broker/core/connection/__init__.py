"""A connection: bytes to frames, the handshake, channel 0, heartbeats, admission.

Law: a connection asks its broker only what ``ports.py`` writes down. Read ``connection.py`` first,
then ``frame_loop.py``.
"""
