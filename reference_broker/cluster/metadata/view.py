"""The view: a node's copy of the cluster's metadata, at one revision of etcd.

The law: transactions are applied in the order of their revisions, each as a whole and once; the
node routes, checks and answers by its view alone, never by a read of etcd.

The view itself keeps the revision of every key, which is what proposals compare; the values go to
the followers, who make exchanges, queues and users of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from reference_broker.cluster.coordinator import Event
from reference_broker.core.journal.watermark import Watermark
from reference_broker.core.work.task import Steps


class Follower(Protocol):
    """Whoever makes something of the keys that begin with a certain head."""

    def changed(self, event: Event) -> Steps | None:
        """A key was written or is gone. Keys come without the cluster's prefix, those of one
        transaction in its order. It may not fail: what can't be read is reported and left out.
        Where one turn is too short for it, it returns steps, before whose end nothing follows."""
        ...


class View:
    """``revision`` is a watermark: the last revision of etcd that is in the view; what waits for it
    is called when the whole transaction is. While :attr:`is_whole` is false the node has nothing
    to route by: it has not read everything yet, or is just making up for what it missed."""

    def __init__(self) -> None:
        self.revision = Watermark()
        self.is_whole = False
        self._revisions: dict[str, int] = {}
        self._followers: list[tuple[str, Follower]] = []
        self._listeners: list[Callable[[], None]] = []

    def __len__(self) -> int:
        """The number of keys."""
        return len(self._revisions)

    def follow(self, head: str, follower: Follower) -> None:
        """Tell ``follower`` of every key that begins with ``head``, from now on. Followers of one
        key are told in the order in which they came."""
        self._followers.append((head, follower))

    def listen(self, risen: Callable[[], None]) -> None:
        """Call ``risen`` each time that :attr:`revision` has risen, after those who waited for
        it."""
        self._listeners.append(risen)

    def revision_of(self, key: str) -> int:
        """The revision that wrote the key last; 0 for one that is not there."""
        return self._revisions.get(key, 0)

    def keys(self) -> Iterable[str]:
        """Every key that is there."""
        return self._revisions.keys()

    def take(self, events: Iterable[Event]) -> Steps:
        """The steps of applying changes, in their order; :meth:`reach` follows with the last of a
        transaction."""
        revisions = self._revisions
        for event in events:
            if event.value is None:
                if revisions.pop(event.key, None) is None:
                    continue  # made and deleted between two reads
            else:
                revisions[event.key] = event.revision
            for head, follower in self._followers:
                if event.key.startswith(head):
                    steps = follower.changed(event)
                    if steps is not None:
                        yield from steps

    def reach(self, revision: int) -> None:
        """Everything up to ``revision`` is in the view."""
        self.is_whole = True
        if revision <= self.revision.value:
            return
        self.revision.rise(revision)
        for risen in self._listeners:
            risen()
