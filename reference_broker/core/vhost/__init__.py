"""A virtual host: its declarations, rights and topology, and the policies in force.

Law: a durable declaration is on disk before it is answered. Read ``vhost.py`` first.
"""
