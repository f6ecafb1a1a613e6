"""Health of an app: whether it is live, whether it is ready, and why not; and the probes that ask.

``health`` has the values, ``examination`` the decisions, ``server`` the thread that answers probes.
"""

from mqkit.health.health import Fault, Health, Reason

__all__ = ["Fault", "Health", "Reason"]
