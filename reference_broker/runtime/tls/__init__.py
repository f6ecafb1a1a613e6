"""TLS: contexts, files and their renewal, handshakes, certificates of clients.

Law: keys stay in this room; the core is told of a session and a verified certificate. Read
``acceptor.py`` first.
"""
