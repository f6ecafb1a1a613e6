"""Policies: which one applies, what it brings into force, and a queue's own. Pure, but for
``setting``.

Read ``in_force.py`` first.
"""
