"""``/api/definitions``: a broker's definitions as a file of RabbitMQ's format, and back.

Law: an import is all or nothing, and names what it refuses. Read ``definitions.py`` first.
"""
