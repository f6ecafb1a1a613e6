"""Bytes and commands that no client would send: what they may do is known, and looked for.

``python -m fuzz`` runs the targets of :mod:`fuzz.targets` with Atheris, each in a process of its
own; ``fuzz.machine`` is a Hypothesis state machine over connections of the reference broker.
"""
