"""The counts of a replay, and the messages that nobody can be sure of, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The counts of a replay, so far or at the end.

    ``replayed`` were confirmed and acked (in a dry run: would be sent); ``edited`` of them with
    changes. In the lot are still: ``skipped``, which were not chosen; ``guarded``, replayed too
    often before; ``kept``, which can't be sent (no queue takes them, or a change does not fit), the
    first of them for ``reason``. ``stopped`` says why it ended early, if it did.

    ``repeated`` names those that an earlier run, which was killed, may have sent as well;
    ``in_doubt`` those that this run may have sent, and that are still in the lot. A name is the
    message id, or a digest of the body.
    """

    lot: str
    to: str | None
    total: int = 0
    seen: int = 0
    replayed: int = 0
    skipped: int = 0
    guarded: int = 0
    kept: int = 0
    edited: int = 0
    reason: str = ""
    repeated: tuple[str, ...] = ()
    in_doubt: tuple[str, ...] = ()
    stopped: str = ""
    dry_run: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain values, for ``--json``."""
        return {
            "lot": self.lot,
            "to": self.to,
            "total": self.total,
            "seen": self.seen,
            "replayed": self.replayed,
            "skipped": self.skipped,
            "guarded": self.guarded,
            "kept": self.kept,
            "edited": self.edited,
            "reason": self.reason,
            "repeated": list(self.repeated),
            "in_doubt": list(self.in_doubt),
            "stopped": self.stopped,
            "dry_run": self.dry_run,
        }
