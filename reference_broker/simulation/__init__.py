"""The deterministic simulator: the real core and the real log over a clock, a network and a disk
that are made of a seed, with clients that remember what they were promised.

``python -m reference_broker.simulation --seed N`` runs one seed. One part alone, without faults and
time of its own, is in :mod:`reference_broker.testing`.
"""

from __future__ import annotations

import logging

# What the broker has to say of a simulated disk is nothing for anybody's terminal.
logging.getLogger("reference_broker").addHandler(logging.NullHandler())
