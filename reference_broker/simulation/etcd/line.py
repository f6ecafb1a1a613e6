"""The way between a node and etcd: requests and answers that are late, lost, or too late."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import TypeVar

from reference_broker.simulation.etcd.inbox import Inbox
from reference_broker.simulation.etcd.server import EtcdServer

REQUEST_TIMEOUT_US = 5_000_000
"""Microseconds after which a node waits for an answer no longer."""

LATE_US = 30_000_000
"""A request that is under way for longer than that timeout arrives within as many microseconds
behind it."""

_LATENCY_US = (500, 20_000)
_SLOW_LATENCY_US = (20_000, 1_500_000)
_SLOW_CHANCE = 0.03
_CONNECTING_CHANCE = 0.3
"""Of requests into a silent cut: those that never left, since there was no connection."""
_HELD_CHANCE = 0.5
"""Of requests that meet a cut: those that are carried out all the same, or yet."""

Result = TypeVar("Result")
Failed = Callable[[str, bool], None]
"""Is told the reason, and true where the request may have been carried out, or may be yet."""


class Cut(Enum):
    """The ways in which a node is cut off: nothing passes, and nobody is told so; or connections
    are reset, and new ones refused."""

    SILENT = "silent"
    REFUSING = "refusing"


class _Request:
    """A request that is open until it is settled, once."""

    def __init__(self, failed: Failed) -> None:
        self.settled = False
        self._failed = failed

    def fail(self, reason: str, in_doubt: bool) -> None:
        if not self.settled:
            self.settled = True
            self._failed(reason, in_doubt)


class Line:
    """Carries requests of one process to etcd, and the answers to its inbox: never within the call
    and each once, unless the process is gone."""

    def __init__(self, server: EtcdServer, inbox: Inbox) -> None:
        self.cut: Cut | None = None
        self._server = server
        self._inbox = inbox
        self._clock = server.clock
        self._random = server.random
        self._open: list[_Request] = []
        self._held: list[Callable[[], None]] = []

    def latency_us(self) -> int:
        """Microseconds for one way, drawn anew."""
        slow = self._random.random() < _SLOW_CHANCE
        return self._random.randint(*(_SLOW_LATENCY_US if slow else _LATENCY_US))

    def ask(
        self, act: Callable[[], Result], answered: Callable[[Result], None], failed: Failed
    ) -> None:
        """Have ``act`` done at etcd, and ``answered`` told its result; or ``failed``."""
        if self._inbox.closed:
            return
        request = _Request(failed)
        if self.cut is Cut.REFUSING:
            fail = partial(request.fail, "connection refused", False)
            self._inbox.later(self.latency_us(), fail)
            return
        if self.cut is Cut.SILENT and self._random.random() < _CONNECTING_CHANCE:
            fail = partial(request.fail, "connecting timed out", False)
            self._inbox.later(REQUEST_TIMEOUT_US, fail)
            return
        self._open = [other for other in self._open if not other.settled]
        self._open.append(request)
        fail = partial(request.fail, f"no answer in {REQUEST_TIMEOUT_US // 1_000_000} s", True)
        self._inbox.later(REQUEST_TIMEOUT_US, fail)
        way_us = self.latency_us()
        if self._random.random() < self._server.profile.late:
            way_us = REQUEST_TIMEOUT_US + self._random.randint(0, LATE_US)
        self._clock.after(way_us, lambda: self._arrive(request, act, answered))

    def break_off(self, cut: Cut) -> None:
        """Let nothing through any more. Where it is refusing, open requests fail soon."""
        self.cut = cut
        if cut is Cut.REFUSING:
            for request in self._open:
                fail = partial(request.fail, "connection was reset", True)
                self._inbox.later(self.latency_us(), fail)

    def heal(self) -> None:
        """Let everything through; some of what got stuck arrives now."""
        self.cut = None
        held, self._held = self._held, []
        for arrive in held:
            self._clock.after(self.latency_us(), arrive)

    def _arrive(
        self, request: _Request, act: Callable[[], Result], answered: Callable[[Result], None]
    ) -> None:
        if self.cut is not None:
            if self._random.random() < _HELD_CHANCE:
                self._held.append(lambda: self._arrive(request, act, answered))
            else:
                self._server.counts["requests lost"] += 1
            return
        self._server.perform(
            lambda: self._carry_out(request, act, answered),
            lambda reason: self._bring_back(lambda: request.fail(reason, False)),
        )

    def _carry_out(
        self, request: _Request, act: Callable[[], Result], answered: Callable[[Result], None]
    ) -> None:
        result = act()
        if request.settled:
            self._server.counts["carried out late"] += 1
        if self._random.random() < self._server.profile.answer_lost:
            self._server.counts["answers lost"] += 1
            return

        def answer() -> None:
            if not request.settled:
                request.settled = True
                answered(result)

        self._bring_back(answer)

    def _bring_back(self, callback: Callable[[], None]) -> None:
        def arrive() -> None:
            if self.cut is None:
                self._inbox.tell(callback)
            else:
                self._server.counts["answers lost"] += 1

        self._clock.after(self.latency_us(), arrive)
