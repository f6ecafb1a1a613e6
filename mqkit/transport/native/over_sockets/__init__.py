"""The native client's blocking shell: a plain socket, and a thread that reads it. Read
``transport.py`` first.
"""
