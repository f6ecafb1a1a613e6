"""The kinds of changes, a module for each sort."""

from interop.drift.changes.bindings import BINDING_CHANGES
from interop.drift.changes.change import Change
from interop.drift.changes.deletions import DELETIONS
from interop.drift.changes.exchanges import EXCHANGE_CHANGES
from interop.drift.changes.policies import POLICY_CHANGES
from interop.drift.changes.queues import QUEUE_CHANGES

CHANGES: tuple[Change, ...] = (
    *DELETIONS,
    *QUEUE_CHANGES,
    *EXCHANGE_CHANGES,
    *BINDING_CHANGES,
    *POLICY_CHANGES,
)

__all__ = ["CHANGES", "Change"]
