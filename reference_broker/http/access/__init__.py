"""Paths of virtual hosts, users, permissions, limits and logins.

Law: who may ask is in ``access_routes.py``, beside each path. Read it first.
"""
