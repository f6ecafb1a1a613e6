"""A broker of two tenants, each in a virtual host of its own: one asks for much, and the other one
sees how long it waits meanwhile.

    tenants = TwoTenants()
    tenants.busy.send(1, QueueDeclare("q"))
    tenants.bound(100)
    tenants.play(tenants.busy.connection.drop)
    assert tenants.longest_wait <= 2

For tests of work in portions. Nothing depends on a clock: a wait is counted in turns, and work in
calls of functions, which are counted by the interpreter and not by the broker.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from mqkit.wire import Properties, content_frames
from mqkit.wire.methods import BasicAck, BasicPublish, QueueDeclare
from reference_broker.testing.lone_broker import FRAME_MAX, LoneBroker, Received

_T = TypeVar("_T")

QUIET_VHOST = "quiet"
_PUBLISH = content_frames(1, BasicPublish("", "q"), Properties(), b"", FRAME_MAX)


class QueueState(NamedTuple):
    """A queue, as far as its users can see it: the bodies of its ready messages, in order, and its
    counts."""

    bodies: tuple[bytes, ...]
    unacked: int
    counts: tuple[int, ...]


class TwoTenants:
    """``busy`` is a client in ``/``, and ``lone`` the broker. Its turns have no bound before
    :meth:`bound`.

    ``turns`` is the number of all turns since then, ``longest_wait`` the most of them that the
    other tenant's publish took to be confirmed, and ``most_calls`` the most functions that were
    called in one.
    """

    def __init__(self) -> None:
        self.lone = LoneBroker()
        self.busy = self.lone.client()
        self.turns = self.longest_wait = self.most_calls = 0
        self.lone.add_vhost(QUIET_VHOST)
        self._quiet = self.lone.client(vhost=QUIET_VHOST)
        self._quiet.send(1, QueueDeclare("q", arguments={"x-max-length": 10}))
        self._quiet.select_confirms()
        self._waits: int | None = None

    def bound(self, units: int) -> None:
        """Let no turn take more than ``units``, from now on. Discards what ``busy`` was told."""
        self.busy.received()
        self.lone.broker.budget.units = units
        self.lone.broker.budget.refill()
        self.lone.overdrawn = 0

    def play(self, action: Callable[[], object], watch: Callable[[], None] | None = None) -> int:
        """Have ``action`` be the input of a turn, and play turns until nothing is left; returns how
        many. ``watch`` is called between them. The other tenant publishes in each turn in which it
        does not wait for a confirm."""
        before = self.turns
        self._counted(action)
        self.lone.note_units()
        while not self.turn() or self._waits is not None:
            if watch is not None:
                watch()
        return self.turns - before

    def turn(self) -> bool:
        """One turn; true when there is nothing to go on with."""
        if self._waits is None:
            self._waits = 0
            self._quiet.feed(_PUBLISH)
        self._look()
        done = self._counted(self.lone.turn)
        self.turns += 1
        if self._waits is not None:
            self._waits += 1
        self._look()
        return done

    def _look(self) -> None:
        if self._waits is not None and BasicAck in map(type, self._quiet.methods()):
            self.longest_wait = max(self.longest_wait, self._waits)
            self._waits = None

    def _counted(self, action: Callable[[], _T]) -> _T:
        calls = 0

        def count(frame: FrameType, event: str, argument: Any) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            return action()
        finally:
            sys.setprofile(before)
            self.most_calls = max(self.most_calls, calls)

    # The end of it

    def queues(self) -> dict[str, QueueState]:
        """The queues of ``/`` by name."""
        return {
            queue.name: QueueState(
                tuple(bytes(content.body) for _, content in sorted(queue.contents.items())),
                queue.unacked,
                (
                    queue.published,
                    queue.delivered,
                    queue.acked,
                    queue.requeued,
                    queue.rejected,
                    queue.dropped,
                    queue.expired,
                    queue.refused,
                    queue.purged,
                ),
            )
            for queue in self.lone.broker.vhosts["/"].queues.values()
        }

    def told(self) -> list[Received]:
        """All that ``busy`` received since the last look, but no confirms: they may be grouped."""
        return [
            received
            for received in self.busy.received()
            if not isinstance(received.method, BasicAck)
        ]
