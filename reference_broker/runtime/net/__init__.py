"""Sockets: listening, reading into the core, and writing what it has for them.

Law: one read is one turn of the core. Read ``connection_protocol.py`` first.
"""
