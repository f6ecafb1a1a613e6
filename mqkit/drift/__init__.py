"""Drift: what an app declared, compared with what is there, at each connect and now and then.

Read :mod:`mqkit.drift.event` first (what is told), then :mod:`mqkit.drift.watch` (when). Looks ask
over AMQP (:mod:`mqkit.drift.amqp_look`) or read a snapshot (:mod:`mqkit.drift.management_look`,
with the pure :mod:`mqkit.drift.compare` and :mod:`mqkit.drift.policies`); what they find goes to
the :mod:`mqkit.drift.book`, which tells each thing once.
"""

from mqkit.drift.event import Done, Drift, DriftKind

__all__ = ["Done", "Drift", "DriftKind"]
