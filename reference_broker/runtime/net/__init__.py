"""Sockets: listening, reading into the core, and writing the core's output.

Law: one read is one turn of the core; TLS is not known here. Read ``connection_protocol.py`` first.
"""
