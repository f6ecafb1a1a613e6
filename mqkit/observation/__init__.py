"""All by which an app is seen from outside, in one place: metrics, health, events.

The client tells :mod:`~mqkit.observation.observation` what happens; the program sees of it what is
in :mod:`~mqkit.observation.app`.
"""
