"""The lines about a client that is not ready, all of them warnings: Python shows those of a program
that has set up no logging.

The first attempts that fail are a line each. After that there is a line a minute, until "ready
again". Where readiness comes and goes, the first times are told, and then one a minute.
"""

from __future__ import annotations

import logging

from mqkit.supervision.states import Change, State
from mqkit.timing.clock import Clock
from mqkit.timing.token_bucket import TokenBucket

ATTEMPTS_TOLD = 3
"""Failed attempts that are a line each, whenever the client stops being ready."""

OUTAGES_TOLD = 3
"""Times that the client may stop being ready before they are told once a minute only."""

MINUTE_S = 60.0

_LOG = logging.getLogger(__name__)

_FAILED = {
    State.CONNECTING: "can't connect",
    State.DECLARING: "connected, but topology and consumers are not set up",
}
"""Words for a failed attempt, by the state that it ended in."""


class ReadinessLog:
    """The log of one supervisor; :meth:`begin` when it starts to connect."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._outages = TokenBucket(OUTAGES_TOLD, MINUTE_S, clock)
        self._ended_in = State.CONNECTING
        self._since_s: float | None = None
        self._told_at_s = 0.0
        self._attempts_told = 0
        self._is_told = False

    def begin(self) -> None:
        """The client is not ready, from now on."""
        self._since_s = self._told_at_s = self._clock.monotonic_s()
        self._is_told = False
        self._attempts_told = 0 if self._outages.take() else ATTEMPTS_TOLD

    def changed(self, change: Change) -> None:
        """The client's state has changed."""
        match change.after:
            case State.READY if self._since_s is not None:
                if self._is_told:
                    since_s = self._clock.monotonic_s() - self._since_s
                    _LOG.warning("ready again after %s", _duration(since_s))
                self._since_s = None
            case State.BLOCKED if self._since_s is None:
                self.begin()
                if self._attempts_told < ATTEMPTS_TOLD:
                    self._tell(f"the broker blocks publishing: {change.detail}")
            case State.CONNECTING:
                self._ended_in = change.before
                if self._since_s is None:
                    self.begin()
            case State.DRAINING | State.CLOSED:
                self._since_s = None

    def failed(self, problem: BaseException) -> None:
        """An attempt to be ready has ended in ``problem``, and there will be another one."""
        failed = _FAILED.get(self._ended_in, "the connection is lost")
        self._ended_in = State.CONNECTING
        if self._since_s is not None and self._attempts_told < ATTEMPTS_TOLD:
            self._attempts_told += 1
            self._tell(f"{failed}, trying again: {_line(problem)}")

    @property
    def reminder_s(self) -> float | None:
        """Seconds until :meth:`remind` is to be called; ``None`` while ready, or at the end."""
        if self._since_s is None:
            return None
        return max(0.0, self._told_at_s + MINUTE_S - self._clock.monotonic_s())

    def remind(self, description: str) -> None:
        """The client is not ready still: ``description`` is its state in words."""
        if self._since_s is not None:
            since_s = self._clock.monotonic_s() - self._since_s
            self._tell(f"not ready for {_duration(since_s)}; {description}")

    def _tell(self, text: str) -> None:
        self._told_at_s = self._clock.monotonic_s()
        self._is_told = True
        _LOG.warning("%s", text)


def _line(problem: BaseException) -> str:
    return " ".join(str(problem).split()) or type(problem).__name__


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < MINUTE_S else f"{seconds / MINUTE_S:.0f} min"
