"""Bugs that are planted on purpose: the simulator must find each, alone.

``python -m mutants`` (``make mutants``) plays every one on seed after seed until a law is broken
that should find it. The bugs are in :mod:`mutants.planted`, and nowhere else: the code that ships
has no switch for them, and this package is not shipped. Tests play each on the seed where it
showed.
"""
