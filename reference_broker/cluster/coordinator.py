"""The coordinator: the port to the store of the cluster's metadata, which is etcd.

Whoever asks hands in a callback, and the answer is a later input of the core: no answer comes
within the call, each comes once, and what is asked by one node is carried out in any order, unless
it waits for the answer. Two backends: the client of etcd in the runtime, and the simulator's model.

The terms are etcd's. Every transaction that changes something makes a new *revision* of the whole
store; a key's revision is the one that wrote it last; a *lease* ends when it is not renewed, and
takes its keys with it; a *watch* tells of the transactions after a revision, in their order; old
revisions are *compacted*, and can't be asked for any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

CHANGES_MAX = 100
"""Changes of one transaction, and compares of one: etcd takes 128 of either (``--max-txn-ops``),
and an operator may have set less for a gateway in between."""

TRANSACTION_BYTES_MAX = 1024 * 1024
"""Octets of the keys and values of one transaction. etcd takes 1.5 MiB of the encoded request."""

PAGE_ROWS_MAX = 1_000
"""Rows of one page: 10,000 in one answer keep etcd and the gateway busy for a second."""


class Row(NamedTuple):
    """A key, its value, and the revision that wrote it last. ``lease`` is 0 for a key that hangs
    on none; ``created`` is the revision that wrote it first, since it was last absent."""

    key: str
    value: bytes
    revision: int
    lease: int = 0
    created: int = 0


class Compare(NamedTuple):
    """A condition of a transaction: ``key`` was last written at ``revision``; 0: it is not
    there."""

    key: str
    revision: int


class Put(NamedTuple):
    """A change: ``key`` gets ``value``, and hangs on ``lease``, where one is named."""

    key: str
    value: bytes
    lease: int = 0


class Delete(NamedTuple):
    """A change: ``key`` goes; one that is not there is fine."""

    key: str


class Transaction(NamedTuple):
    """Changes that are made together, if every compare holds: at most :data:`CHANGES_MAX` of
    either, and no key in two changes."""

    compares: tuple[Compare, ...]
    changes: tuple[Put | Delete, ...]


class Won(NamedTuple):
    """The transaction was carried out, at ``revision``."""

    revision: int


class Lost(NamedTuple):
    """A compare did not hold, and nothing was changed; the store was at ``revision``: who has seen
    that revision knows why."""

    revision: int


class Refused(NamedTuple):
    """The transaction was not carried out, and will not be; ``reason`` is for the operator, in one
    line. ``lasting``: nor would the same one be, if it were proposed again; its lease is gone, or
    etcd takes no such request from this user."""

    reason: str
    lasting: bool = False


class InDoubt(NamedTuple):
    """No answer: the transaction was carried out, or will be yet, or never. Reading doesn't tell;
    propose the same compares again: if that wins, the first never will."""

    reason: str


Outcome = Won | Lost | Refused | InDoubt


class Page(NamedTuple):
    """Rows in the order of their keys, as they were at ``revision``. ``more``: there are rows
    after the last one. ``ahead_s`` is the wall clock of the store's machine, less this one's."""

    rows: tuple[Row, ...]
    revision: int
    more: bool
    ahead_s: float = 0.0


class Unread(NamedTuple):
    """Nothing was read. ``compacted``: the revision that was asked for is not to be had any
    more."""

    reason: str
    compacted: bool = False


class Event(NamedTuple):
    """A key that was written at ``revision``; ``value`` is ``None`` for one that went, and then
    ``lease`` and ``created`` are 0."""

    key: str
    value: bytes | None
    revision: int
    lease: int = 0
    created: int = 0


class Changed(NamedTuple):
    """Everything under the prefix that one transaction changed, in the order of its changes."""

    revision: int
    events: tuple[Event, ...]


class Progressed(NamedTuple):
    """Nothing else has changed under the prefix up to ``revision``."""

    revision: int


class WatchEnded(NamedTuple):
    """The watch is over, and tells no more. ``compacted``: what comes next is not to be had any
    more, and the rows have to be read anew; otherwise watch again from the revision after the
    last one that was told."""

    reason: str
    compacted: bool = False


News = Changed | Progressed | WatchEnded


class Watch(Protocol):
    """A watch that goes on."""

    def close(self) -> None:
        """Be told nothing more. Idempotent."""
        ...


class LeaseListener(Protocol):
    """Whoever has a lease kept."""

    def lease_granted(self, lease: int) -> None:
        """From now on ``lease`` is the node's; its keys have to be put, again if there was another
        before."""
        ...

    def lease_ended(self, lease: int) -> None:
        """``lease`` has run out or was revoked, and its keys are gone, or will be. Another one is
        asked for already."""
        ...


class LeaseKeeper(Protocol):
    """A lease that is kept."""

    @property
    def answered_at(self) -> float:
        """The time at which that request for the lease was sent which the store answered last, or
        at which it was begun: seconds of the clock of the node's links."""
        ...

    def release(self) -> None:
        """Give the lease back: its keys go now. The listener is told nothing more. Idempotent."""
        ...


class Coordinator(Protocol):
    """The store of the cluster's metadata. Keys are text, and include their prefix."""

    def propose(self, transaction: Transaction, answer: Callable[[Outcome], None]) -> None:
        """Have ``transaction`` carried out."""
        ...

    def read(
        self,
        prefix: str,
        answer: Callable[[Page | Unread], None],
        *,
        after: str = "",
        revision: int = 0,
    ) -> None:
        """Read the rows whose keys begin with ``prefix`` and are greater than ``after``, at most
        :data:`PAGE_ROWS_MAX`: as they are now (linearizable), or as they were at ``revision``. An
        empty page tells the revision, too."""
        ...

    def watch(self, prefix: str, after: int, tell: Callable[[News], None]) -> Watch:
        """Tell of every transaction after revision ``after`` that changes a key under ``prefix``,
        until the watch is ended or closed. One that can't be told from a dead one is ended within
        :data:`WATCH_SILENCE_S`."""
        ...

    def keep_lease(self, ttl_s: int, listener: LeaseListener) -> LeaseKeeper:
        """Have a lease of ``ttl_s`` seconds, keep it, and get another one when it is lost, until it
        is released."""
        ...


WATCH_SILENCE_S = 15.0
"""Seconds after which a watch that says nothing, while the store goes on, is ended: one at a member
of etcd that is cut off from the others says nothing for ever."""
