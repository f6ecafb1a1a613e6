"""Names of the features that a scenario may have at work, and of their virtual hosts."""

from __future__ import annotations

DRAWN_TOGETHER = (
    "quorum", "delayed", "windows", "transactions", "requeues", "policies", "vhosts",
    "definitions", "expires", "exclusive", "large",
)  # fmt: skip
"""In the order that seeds draw from: another order is another scenario for each seed. Each has a
workload in :mod:`reference_broker.simulation.clients.features`."""

DRAWN_APART = ("consumers", "removals")
"""Later ones: each has a chance of its own, so that a new one leaves the other scenarios as they
are."""

FEATURE_NAMES = (*DRAWN_TOGETHER, *DRAWN_APART)


def vhost_of(name: str) -> str:
    """The virtual host of the feature called ``name``."""
    return f"feature-{name}"
