"""Publishing from any thread, with an outcome for each message: as :mod:`mqkit.pool.publisher`, and
the calling thread does the waiting.

    call ── attempt on a lane ──> confirmed, rejected                         its outcome
               ^        └───────> in doubt, its connection lost ──┐
               └───── the same message id, while time allows ─────┘
                        └───────> in doubt, its channel closed    ── alone, one after the other

One deadline covers everything: connecting, waiting while the broker blocks or for room in the
window, the confirm, and publishing again what a lost connection left in doubt.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mqkit.message import Message
from mqkit.outcome import Outcome
from mqkit.pool.terms import Terms, WhenBlocked
from mqkit.sync.attempt import SLICE, Attempt
from mqkit.sync.call import Call
from mqkit.sync.link import Lane, Link

if TYPE_CHECKING:
    from mqkit.settings import Settings


class Publisher:
    """Thread-safe. Belongs to one process, as its link does."""

    def __init__(self, link: Link, settings: Settings) -> None:
        self._link = link
        self.deadline_s = settings.publish_deadline_s
        """For calls that say none."""
        self._octets_max = settings.max_message_bytes
        self._terms = Terms().but(True, settings.on_blocked)

    def publish(
        self,
        messages: Sequence[Message],
        deadline_s: float | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
    ) -> list[Outcome]:
        """Publish the messages in order, pipelined; one outcome each, in order.

        The deadline is for all of them together. Raises :exc:`~mqkit.errors.Closed`, what lets the
        first connect fail for good, and :exc:`~mqkit.errors.ConfigurationError` for arguments that
        make no sense.
        """
        terms = self._terms
        if resend is not True or on_blocked is not None:
            terms = terms.but(resend, on_blocked)
        allowed_s = self.deadline_s if deadline_s is None else deadline_s
        call = Call(messages, terms, time.monotonic() + allowed_s, self._octets_max)
        link = self._link
        link.begin()
        try:
            while call.pending and time.monotonic() < call.until_s:
                if not self._try(call):
                    break
        finally:
            link.end()
        why = f"within {allowed_s:g} s (client: {link.describe()})" if call.pending else ""
        return call.outcomes(why)

    def close(self, drain_s: float) -> None:
        """See :meth:`Link.close`."""
        self._link.close(drain_s)

    def _try(self, call: Call) -> bool:
        """One attempt at all that is pending. False when the time is over."""
        lane = self._link.lane(call.until_s, waits_when_blocked=call.waits_when_blocked)
        if lane is None:
            return False
        if isinstance(lane, str):
            call.refuse(lane)
            return True
        try:
            doubtful = self._attempt(call, lane, call.pending)
        finally:
            self._link.leave(lane)
        if doubtful and lane.was_refused:
            return self._one_by_one(call, doubtful)
        return True

    def _one_by_one(self, call: Call, positions: Sequence[int]) -> bool:
        """The broker has closed a channel for a message, and does not say for which: so each is
        published with nothing else in flight. False when the time is over."""
        for position in positions:
            with self._link.lone_lane(call.until_s) as lane:
                if lane is None:
                    return False
                self._attempt(call, lane, [position])
        return True

    def _attempt(self, call: Call, lane: Lane, positions: Sequence[int]) -> list[int]:
        """Publish the messages of these positions and wait. Returns the positions in doubt."""
        attempt = Attempt(len(positions))
        channel = lane.channel
        for start in range(0, len(positions), SLICE):
            if start and (attempt.is_held_up or self._link.blocked or not channel.is_open):
                break
            part = positions[start : start + SLICE]
            attempt.write(channel, [call.messages[at] for at in part], call.until_s)
        attempt.wait(call.until_s)
        return call.take(positions, attempt)
