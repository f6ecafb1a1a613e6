"""The handlings of one request. What the core can't answer yet is asked again, from its beginning,
so what an earlier handling has found or made is kept here."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.requests import Request

from reference_broker.core.access.passwords import PasswordHash
from reference_broker.core.work.until import Agreement

_KEY = "mqkit.handlings"


@dataclass(slots=True)
class Handlings:
    """``has_changed`` is true when the other nodes have agreed to a change that an earlier handling
    asked for, and ``has_made`` when that was an object that had not been there. ``hashes`` are of
    new passwords, by user: another hash of the same password would be another change. ``deleted``
    are the names that earlier handlings wanted to be gone. ``queues_lost`` is the number of queues
    of a node that was to be forgotten."""

    has_changed: bool = False
    has_made: bool = False
    hashes: dict[str, PasswordHash] = field(default_factory=dict)
    deleted: dict[str, None] = field(default_factory=dict)
    queues_lost: int = 0

    def note(self, asked: Agreement) -> None:
        """The other nodes were asked, and the request is handled again."""
        self.has_changed = self.has_changed or asked.is_agreed
        self.has_made = self.has_made or (asked.is_agreed and asked.is_new)


def handlings_of(request: Request) -> Handlings:
    """Those so far: the same object for every handling."""
    handlings: Handlings = request.scope.setdefault(_KEY, Handlings())
    return handlings
