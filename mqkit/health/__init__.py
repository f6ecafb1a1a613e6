"""Health of an app: whether it is live, whether it is ready, and why not; and the probes that ask.

``report`` has the values, ``examination`` the decisions, ``server`` the thread that answers probes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqkit.lazy_names import lazy_names

if TYPE_CHECKING:
    from mqkit.health.report import Fault, Health, Reason

__all__ = [
    "Fault",
    "Health",
    "Reason",
]

__getattr__ = lazy_names(
    __name__,
    {
        "mqkit.health.report": (
            "Fault",
            "Health",
            "Reason",
        ),
    },
)
