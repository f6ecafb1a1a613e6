"""The deterministic simulator: the real core and the real log over a clock, a network and a disk
that are made of a seed, with clients that remember what they were promised.

``python -m reference_broker.simulation --seed N`` runs one seed. (:mod:`lone_queue` and
:mod:`lone_broker` are the small worlds of unit tests: one part, no faults, no time of its own.)
"""
