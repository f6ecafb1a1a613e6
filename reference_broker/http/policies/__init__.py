"""Paths of policies, operator policies, parameters and global parameters.

Law: validation is the core's (``core/policy``); here are paths and texts. Read ``policies.py``
first.
"""
