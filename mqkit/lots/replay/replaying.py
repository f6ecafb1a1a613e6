"""A replay: windows of at most 100 messages, in the order of the lot.

    read a window  ->  name what may have been sent before  ->  publish  ->  confirms  ->  acks

The only state is the lot. A run that is killed leaves its window there, and the broker marks it as
redelivered. So the next run knows which messages may have been sent: the first that it chooses, as
long as they are redelivered, and a window of them at most. (A peek marks messages as well: "may".)
The next window is read over the channel that the acks went over, so no run has two in doubt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from mqkit.declaration import Exchange
from mqkit.errors import ChannelError, ConfigurationError, MqkitError
from mqkit.lots.archive.archiving import Stopping, never
from mqkit.lots.archive.identity import name_of
from mqkit.lots.archive.record import Record
from mqkit.lots.choice import Choice
from mqkit.lots.chosen_windows import chosen_windows
from mqkit.lots.link import NOT_FOUND, LotLink
from mqkit.lots.reading import LotReader, Window, reading
from mqkit.lots.replay.edits import Change, Edit, Unfit
from mqkit.lots.replay.outgoing import Route, outgoing
from mqkit.lots.replay.report import ReplayReport
from mqkit.lots.sending import WINDOW, in_words
from mqkit.message import Delivery, Message
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.retry.headers import MAX_REPLAYS, REPLAYS, count_of
from mqkit.transport.seam import Channel, Connection

EXCHANGES_MAX = 1_000
"""Original exchanges that are remembered as there, or as gone."""


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """A replay as it is asked for. ``rate_per_s`` bounds the messages a second, and so the window.
    Raises :exc:`~mqkit.errors.ConfigurationError` for a rate that is not above 0."""

    lot: str
    choice: Choice = field(default_factory=Choice)
    route: Route = field(default_factory=Route)
    edits: tuple[Edit, ...] = ()
    rate_per_s: float | None = None
    dry_run: bool = False
    replays_max: int = MAX_REPLAYS

    def __post_init__(self) -> None:
        if self.rate_per_s is not None and not self.rate_per_s > 0:
            raise ConfigurationError(f"a replay's rate is above 0, not {self.rate_per_s:g}")
        if self.route.to is not None and self.route.original:
            raise ConfigurationError("a replay goes to one queue, or to the original exchanges")
        if self.route.to == self.lot:
            raise ConfigurationError(f"{self.lot!r} can't be replayed into itself")

    @property
    def window(self) -> Window:
        """The messages sent together: at most what the rate allows in a second."""
        if self.rate_per_s is None:
            return Window(WINDOW)
        return Window(max(1, min(WINDOW, int(self.rate_per_s))))


@dataclass(frozen=True, slots=True)
class Watch:
    """Called while a replay runs; names come before the messages are sent again."""

    on_progress: Callable[[ReplayReport], None] = lambda report: None
    on_repeated: Callable[[Sequence[str]], None] = lambda names: None
    on_changes: Callable[[str, Sequence[Change]], None] = lambda name, changes: None
    stopping: Stopping = never


async def replay(link: LotLink, request: ReplayRequest, watch: Watch | None = None) -> ReplayReport:
    """Send the chosen messages back, each acked only after its confirm.

    Every message that lay there at the start is looked at once, so that one that fails again at
    once is not sent round. It stops at the first message that is not confirmed; but one that no
    queue takes stays, and the rest goes on, where each message has a target of its own. Raises
    :exc:`~mqkit.errors.ConfigurationError` if lot or target queue is not there.
    """
    fixed = request.route.fixed(request.lot, link.known)
    if fixed is None and not request.route.original and not link.known.is_lot(request.lot):
        raise ConfigurationError(
            f"{request.lot!r} is not named like a parking lot (queue.parked): say where to replay"
            " to (--to), or that it is one (--lot, -f)"
        )
    # Two connections: the broker may block the one that publishes, and acks must still pass.
    async with AsyncExitStack() as stack:
        source = await stack.enter_async_context(reading(link, request.lot, "replay"))
        out = await stack.enter_async_context(link.connection("replay, publishing"))
        if fixed is not None:
            await link.state(await link.channel(out), fixed)
        channel = await link.channel(out, confirms=True)
        run = _Run(link, request, watch or Watch(), source, _Exchanges(link, out), channel)
        await run.all()
        await source.give_back()
        return run.report


class _Exchanges:
    """Which exchanges are there: a publish to one that is not would end the channel."""

    def __init__(self, link: LotLink, connection: Connection) -> None:
        self._link = link
        self._connection = connection
        self._known: dict[str, bool] = {"": True}

    async def has(self, name: str) -> bool:
        if name not in self._known:
            if len(self._known) > EXCHANGES_MAX:
                self._known = {"": True}
            self._known[name] = await self._ask(name)
        return self._known[name]

    async def _ask(self, name: str) -> bool:
        channel = await self._link.channel(self._connection)
        async with self._link.step(f"the exchange {name!r}"):
            try:
                await channel.declare_exchange(Exchange(name, "direct"), passive=True)
            except ChannelError as error:
                if error.reply_code != NOT_FOUND:
                    raise
                return False
            await channel.close()
        return True


class _Run:
    def __init__(
        self,
        link: LotLink,
        request: ReplayRequest,
        watch: Watch,
        source: LotReader,
        exchanges: _Exchanges,
        channel: Channel,
    ) -> None:
        self._link = link
        self._request = request
        self._watch = watch
        self._source = source
        self._exchanges = exchanges
        self._channel = channel
        self._now = link.now()
        self._may_repeat = True
        self._chosen = 0
        self._unsure: tuple[str, ...] = ()
        """The names of what was sent since the broker last answered on the channel of the acks."""
        fixed = request.route.fixed(request.lot, link.known)
        self.report = ReplayReport(request.lot, fixed, source.total, dry_run=request.dry_run)

    async def all(self) -> None:
        request = self._request
        windows = chosen_windows(
            self._source, request.choice, self._now, request.window, self._is_fresh
        )
        try:
            async for window in windows:
                self._unsure = ()
                await self._one(window)
                if not await self._goes_on(len(window)):
                    break
        except MqkitError as error:
            if not self._chosen:
                raise
            in_doubt = tuple(dict.fromkeys((*self.report.in_doubt, *self._unsure)))
            self.report = replace(self.report, in_doubt=in_doubt, stopped=str(error))
        self._count()

    async def _goes_on(self, sent: int) -> bool:
        """True if there is to be another window; waits as long as the rate wants."""
        self._count()
        self._watch.on_progress(self.report)
        rate = self._request.rate_per_s
        if rate is not None and not self.report.stopped and not self._source.is_over:
            await self._link.sleep(sent / rate)
        if not self.report.stopped and self._watch.stopping():
            self.report = replace(self.report, stopped="asked to stop")
        return not self.report.stopped

    def _is_fresh(self, delivery: Delivery) -> bool:
        if count_of(delivery.headers, REPLAYS) < self._request.replays_max:
            return True
        self.report = replace(self.report, guarded=self.report.guarded + 1)
        return False

    def _count(self) -> None:
        source = self._source
        skipped = source.seen - self._chosen - self.report.guarded
        self.report = replace(self.report, total=source.total, seen=source.seen, skipped=skipped)

    async def _one(self, window: list[Delivery]) -> None:
        """Send a window, and ack what was confirmed."""
        ready: list[tuple[Delivery, str, Message, tuple[Change, ...]]] = []
        for delivery in window:
            self._chosen += 1
            name = name_of(Record.of(delivery))
            try:
                message, changes = await self._prepare(delivery)
            except Unfit as why:
                self._keep(name, str(why))
                continue
            ready.append((delivery, name, message, changes))
        self._tell([(delivery, name) for delivery, name, _, _ in ready])
        for _, name, _, changes in ready:
            if changes:
                self._watch.on_changes(name, changes)
        edited = sum(1 for *_, changes in ready if changes)
        self.report = replace(self.report, edited=self.report.edited + edited)
        if self._request.dry_run:
            self.report = replace(self.report, replayed=self.report.replayed + len(ready))
        elif ready:
            self._unsure = tuple(name for _, name, _, _ in ready)
            outcomes = await self._publish([message for _, _, message, _ in ready])
            await self._settle([(each[0], each[1]) for each in ready], outcomes)

    async def _prepare(self, delivery: Delivery) -> tuple[Message, tuple[Change, ...]]:
        request = self._request
        found = outgoing(
            delivery, request.lot, request.route, self._link.known, request.edits, self._now
        )
        if not await self._exchanges.has(found.message.exchange):
            raise Unfit(f"there is no exchange {found.message.exchange!r}")
        return found.message, found.changes

    def _tell(self, ready: Sequence[tuple[Delivery, str]]) -> None:
        """Name what an earlier run may have sent, before it is sent again."""
        names: list[str] = []
        for delivery, name in ready:
            full = len(self.report.repeated) + len(names) >= WINDOW
            self._may_repeat = self._may_repeat and delivery.redelivered and not full
            if not self._may_repeat:
                break
            names.append(name)
        if names:
            self.report = replace(self.report, repeated=(*self.report.repeated, *names))
            self._watch.on_repeated(names)

    async def _publish(self, messages: list[Message]) -> list[Outcome]:
        async with self._link.step(f"the confirms of {self._request.lot!r}"):
            confirms = await self._link.publish_over(self._channel, messages)
            return list(await asyncio.gather(*confirms))

    async def _settle(
        self, sent: Sequence[tuple[Delivery, str]], outcomes: Sequence[Outcome]
    ) -> None:
        confirmed: list[int] = []
        for (delivery, name), outcome in zip(sent, outcomes, strict=True):
            if isinstance(outcome, Confirmed):
                confirmed.append(delivery.delivery_tag)
                continue
            if self._stays(outcome):
                self._keep(name, in_words(outcome))
            elif not self.report.stopped:
                words = f"message {name} was not confirmed: {in_words(outcome)}"
                self.report = replace(self.report, stopped=words)
            if isinstance(outcome, Unknown) and outcome.sent:
                self.report = replace(self.report, in_doubt=(*self.report.in_doubt, name))
        await self._source.ack(confirmed)
        self.report = replace(self.report, replayed=self.report.replayed + len(confirmed))

    def _stays(self, outcome: Outcome) -> bool:
        """True for a message that no queue takes, where others have other targets."""
        unroutable = isinstance(outcome, Rejected) and outcome.reason is RejectReason.UNROUTABLE
        return unroutable and self.report.to is None

    def _keep(self, name: str, why: str) -> None:
        reason = self.report.reason or f"message {name}: {why}"
        self.report = replace(self.report, kept=self.report.kept + 1, reason=reason)
