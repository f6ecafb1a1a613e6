"""One replay: from a parking lot back to a queue, window by window.

    get, get, get ...  ->  publish them in order  ->  wait for every confirm  ->  ack the confirmed
         |                                                                            |
         +-- not chosen, or replayed too often: held unacked, requeued at the end <---+-- the rest

What is held stays unacked until the end: a requeued message goes back to the head, and the next get
would bring it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from mqkit.errors import ConfigurationError
from mqkit.outcome import Confirmed, Outcome
from mqkit.retry.headers import to_replay
from mqkit.retry.known_lots import KnownLots
from mqkit.retry.parked import ParkedMessage, Selection
from mqkit.transport.seam import Channel

WINDOW = 100
"""Messages in flight: enough to hide the round trip, few enough to duplicate after a crash."""

MAX_REPLAYS = 10
"""A message that has come back from so many replays needs a person, not another replay."""

MAX_NAMED = 10
"""Messages or queues that a report names; the others are counted."""

Step = Callable[[str], AbstractAsyncContextManager[None]]
"""A deadline around one step at the broker; takes what is waited for."""


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """A replay as it is asked for: the messages, the target queue, and the rate. Without a target
    each message goes back to the queue that it failed on, as far as ``known`` goes."""

    lot: str
    to: str | None
    selection: Selection
    limit: int | None = None
    rate_per_s: float | None = None
    dry_run: bool = False
    known: KnownLots = field(default_factory=KnownLots)

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ConfigurationError(f"a replay's limit is at least 1, not {self.limit}")
        if self.rate_per_s is not None and not self.rate_per_s > 0:
            raise ConfigurationError(f"a replay's rate is above 0, not {self.rate_per_s:g}")

    def target_of(self, message: ParkedMessage) -> str:
        """The queue that ``message`` is sent to; empty if nobody knows."""
        target = self.to or message.queue
        return "" if target == self.lot else target

    @property
    def window(self) -> int:
        """The number of messages sent together: at most what the rate allows in a second."""
        return WINDOW if self.rate_per_s is None else max(1, min(WINDOW, int(self.rate_per_s)))


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The counts of a replay, so far or at the end.

    ``replayed`` were confirmed and acked (in a dry run: would be sent). ``skipped`` were not
    chosen, ``guarded`` were replayed too often before, of ``homeless`` nobody knows the queue: all
    of these are still in the parking lot. ``unknown`` names the first of the homeless.
    ``stopped`` says why it ended early, or that there are homeless ones; the message concerned is
    still there. ``to`` is the target; where each message went to its own queue, those queues (the
    first of them, which ``targets`` has one by one).
    """

    lot: str
    to: str
    total: int
    seen: int = 0
    replayed: int = 0
    skipped: int = 0
    guarded: int = 0
    stopped: str = ""
    dry_run: bool = False
    homeless: int = 0
    unknown: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

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
            "homeless": self.homeless,
            "unknown": list(self.unknown),
            "stopped": self.stopped,
            "dry_run": self.dry_run,
        }


async def replay(
    request: ReplayRequest,
    source: Channel,
    out: Channel,
    total: int,
    step: Step,
    sleep: Callable[[float], Awaitable[None]],
    on_progress: Callable[[ReplayReport], None],
) -> ReplayReport:
    """Run ``request`` over the messages that lie there now (``total``).

    ``out`` is a confirm channel of another connection than ``source``.
    """
    report = ReplayReport(request.lot, request.to or "", total, dry_run=request.dry_run)
    last_tag = 0
    while not report.stopped and _wants_more(report, request):
        before = report.replayed
        report, chosen, last_tag = await _read_window(request, report, source, step, last_tag)
        if chosen and not request.dry_run:
            sent, stopped = await _send_window(request, chosen, source, out, step)
            report = replace(report, replayed=before + sent, stopped=stopped or report.stopped)
        on_progress(report)
        if request.rate_per_s is not None and chosen and _wants_more(report, request):
            await sleep(len(chosen) / request.rate_per_s)
    if last_tag and (request.dry_run or report.seen > report.replayed):
        async with step(f"the requeue on {request.lot!r}"):
            await source.nack(last_tag, multiple=True, requeue=True)
    return report if report.stopped else replace(report, stopped=_homeless(report))


def _homeless(report: ReplayReport) -> str:
    if not report.homeless:
        return ""
    return (
        f"nobody knows the queue of {report.homeless} of the messages"
        f" ({', '.join(report.unknown)}): say where to replay to"
    )


def _wants_more(report: ReplayReport, request: ReplayRequest) -> bool:
    within_limit = request.limit is None or report.replayed < request.limit
    return within_limit and report.seen < report.total


async def _read_window(
    request: ReplayRequest, report: ReplayReport, source: Channel, step: Step, last_tag: int
) -> tuple[ReplayReport, list[ParkedMessage], int]:
    """Get until a window is chosen; the report counts the chosen ones as replayed already."""
    chosen: list[ParkedMessage] = []
    while len(chosen) < request.window and _wants_more(report, request):
        async with step(f"a message of {request.lot!r}"):
            delivery = await source.get(request.lot)
        if delivery is None:
            return replace(report, total=report.seen), chosen, last_tag
        last_tag = delivery.delivery_tag
        message = ParkedMessage.of(delivery, request.lot, request.known)
        report = replace(report, seen=report.seen + 1)
        if not request.selection.matches(message):
            report = replace(report, skipped=report.skipped + 1)
        elif message.replays >= MAX_REPLAYS:
            report = replace(report, guarded=report.guarded + 1)
        elif not (target := request.target_of(message)):
            unknown = _with(report.unknown, message.message_id or "(no id)")
            report = replace(report, homeless=report.homeless + 1, unknown=unknown)
        else:
            targets = _with(report.targets, target)
            to = request.to or ", ".join(targets)
            report = replace(report, replayed=report.replayed + 1, to=to, targets=targets)
            chosen.append(message)
    return report, chosen, last_tag


async def _send_window(
    request: ReplayRequest,
    chosen: Sequence[ParkedMessage],
    source: Channel,
    out: Channel,
    step: Step,
) -> tuple[int, str]:
    """Publish, wait, ack what was confirmed; how many that was, and why to stop if not all."""
    messages = [to_replay(it.delivery, request.target_of(it)) for it in chosen]
    async with step(f"the confirms of what is sent back from {request.lot!r}"):
        outcomes = await asyncio.gather(*await out.publish_many(messages))
    sent, stopped = 0, ""
    for message, outcome in zip(chosen, outcomes, strict=True):
        if isinstance(outcome, Confirmed):
            async with step(f"an ack on {request.lot!r}"):
                await source.ack(message.delivery.delivery_tag)
            sent += 1
        elif not stopped:
            stopped = (
                f"message {message.message_id or '(no id)'} was not confirmed by"
                f" {request.target_of(message)!r}: {_say(outcome)}"
            )
    return sent, stopped


def _with(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    """``names`` and ``name``, once, as far as a report names any."""
    return names if name in names or len(names) >= MAX_NAMED else (*names, name)


def _say(outcome: Outcome) -> str:
    match outcome:
        case Confirmed():
            return "confirmed"
        case _:
            return outcome.detail or str(getattr(outcome, "reason", "unknown"))
