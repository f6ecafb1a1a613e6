"""Policies and parameters as an operator sets them: validated, named, and matched to names.

Law: this room holds settings; what comes into force on a queue is decided in ``vhost/policies.py``.
Read ``policy.py`` first.
"""
