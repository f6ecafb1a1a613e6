"""The workload of a client: connect, publish, take, settle, remove, and connect again."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from reference_broker.simulation.clients.client import Session
from reference_broker.simulation.clients.client_channel import ClientChannel
from reference_broker.simulation.clients.memory import Memory
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import RemovalKind, Settlement
from reference_broker.simulation.events.standings import Standing
from reference_broker.simulation.machine.machine import Machine
from reference_broker.simulation.machine.network import Link
from reference_broker.simulation.plan.plans import ClientPlan, QueuePlan, Route, Scenario
from reference_broker.simulation.watch.history import History

RECONNECT_US = (5_000, 500_000)

SIZES = (0, 0, 10, 100, 100, 500, 1_000, 6_000)
LARGE_SEGMENTS = (0.5, 1.0, 1.5, 3.0)
"""Sizes of large messages, in segments: several frames, and files of their own."""
_LARGE_CHANCE = 0.01
_MULTIPLE_CHANCE = 0.2
_EXPIRATIONS_MS = (0, 50, 500, 5_000)
RUN_MESSAGES = (3, 40)
"""Messages of a run, from and to: published to one place, or acked, one after another and in one
piece."""
_PRIORITY_ABOVE = 2
"""Priorities go up to this much above what any queue has: there they count as its highest."""

UNCONFIRMED_MAX = 200
"""Unconfirmed messages above which a channel waits: nobody publishes into a broker that says
nothing."""

Connected = Callable[[Link, Session], None]
"""Called with each connection before anything was sent on it."""


class Actor:
    """One client over its whole life: session after session, until :meth:`leave`. It counts its
    ``actions``, and takes no more than ``actions_max``."""

    def __init__(
        self,
        clock: SimulatedClock,
        random: Random,
        machine: Machine,
        history: History,
        scenario: Scenario,
        plan: ClientPlan,
        connected: Connected,
        actions_max: int | None = None,
    ) -> None:
        self.session: Session | None = None
        self.link: Link | None = None
        self.name = f"client {plan.index}"
        self.actions = 0
        self._actions_max = actions_max
        self._clock = clock
        self._random = random
        self._machine = machine
        self._history = history
        self._scenario = scenario
        self._plan = plan
        self._connected = connected
        self._memory = Memory(trusts=scenario.declares_once)
        self._left = False
        self._is_calm = False
        self._rests = False
        self._queues = {queue.name: queue for queue in scenario.queues}
        self._routes = [scenario.routes(plan, channel) for channel in range(len(plan.channels))]
        self._removable = [
            queue
            for queue in scenario.queues
            if queue.owner == plan.index and (queue.purged or queue.disposable)
        ]
        self._priority_max = max(queue.max_priority for queue in scenario.queues)

    def begin(self) -> None:
        """Start to connect, and to act."""
        self._connect()
        self._later(self._plan.pause_us, self._act)

    def calm(self) -> None:
        """Ack everything from now on, and do nothing else."""
        self._is_calm = True

    def rest(self) -> None:
        """Do nothing at all from now on, but stay connected."""
        self._rests = True

    @property
    def standing(self) -> Standing:
        """The client, and what it waits for."""
        if self.session is None:
            return Standing(self.name, is_connected=False)
        return self.session.standing(self.name)

    def leave(self) -> None:
        """End the client's process."""
        self._left = True
        self._drop_session()

    def publish_to(self, route: Route, count: int) -> None:
        """Small persistent messages, in one piece, on the first channel."""
        assert self.session is not None
        channel = self.session.channels[0]
        self._send(b"".join(channel.publish(route, 10, True) for _ in range(count)))

    def _act(self) -> None:
        if self._left:
            return
        channels = []
        if self.session is not None and not self._rests:
            channels = self.session.ready_channels()
        if self._is_calm:
            for channel in channels:
                if channel.held:
                    last_tag = next(reversed(channel.held))
                    self._send(channel.settle(last_tag, Settlement.ACK, multiple=True))
        elif channels and self.actions != self._actions_max:
            self.actions += 1
            channel = channels[0] if len(channels) == 1 else self._random.choice(channels)
            publishes = self._random.random() < self._plan.publish_chance
            if self._plan.run_chance and self._random.random() < self._plan.run_chance:
                frames = self._publish_run(channel) if publishes else self._ack_run(channel)
            elif publishes:
                frames = self._publish(channel)
            else:
                frames = self._rarely(channel) or self._settle_some(channel)
            if frames:
                self._send(frames)
        self._later(self._plan.pause_us, self._act)

    # What goes out in one piece

    def _publish(self, channel: ClientChannel) -> bytes:
        frames = b""
        if len(channel.unconfirmed) < UNCONFIRMED_MAX:
            for _ in range(self._random.randint(1, self._plan.batch_max)):
                frames += self._publish_one(channel)
        return frames

    def _publish_one(self, channel: ClientChannel) -> bytes:
        random = self._random
        route = random.choice(self._routes[channel.number - 1])
        size = random.choice(SIZES)
        if random.random() < _LARGE_CHANCE:
            size = round(random.choice(LARGE_SEGMENTS) * self._scenario.broker.segment_bytes)
        persistent = random.random() >= self._plan.transient_chance
        priority = expiration_ms = None
        if self._priority_max and random.random() < 0.7:
            priority = random.randint(0, self._priority_max + _PRIORITY_ABOVE)
        if random.random() < self._plan.expiration_chance and all(
            self._queues[queue].takes_expirations for queue in route[2]
        ):
            expiration_ms = random.choice(_EXPIRATIONS_MS)
        return channel.publish(route, size, persistent, priority, expiration_ms)

    def _publish_run(self, channel: ClientChannel) -> bytes:
        """Publish messages that are alike, but for their numbers, and here and there a size or
        mode."""
        if len(channel.unconfirmed) >= UNCONFIRMED_MAX:
            return b""
        random = self._random
        route = random.choice(self._routes[channel.number - 1])
        sizes = random.choices(SIZES, k=2)
        frames = b""
        for _ in range(random.randint(*RUN_MESSAGES)):
            persistent = random.random() >= self._plan.transient_chance
            frames += channel.publish(route, random.choice(sizes), persistent)
        return frames

    def _ack_run(self, channel: ClientChannel) -> bytes:
        """Ack the oldest deliveries, each by a frame of its own."""
        tags = list(channel.held)[: self._random.randint(*RUN_MESSAGES)]
        return b"".join(channel.settle(tag, Settlement.ACK) for tag in tags)

    def _settle_some(self, channel: ClientChannel) -> bytes:
        frames = b""
        for _ in range(self._random.randint(1, 5)):
            if not channel.held:
                break
            tag = self._random.choice(list(channel.held)[:5])
            multiple = self._random.random() < _MULTIPLE_CHANCE
            frames += channel.settle(tag, self._how(), multiple=multiple)
        return frames

    def _how(self) -> Settlement:
        chance = self._random.random()
        if chance < self._plan.requeue_chance:
            return Settlement.REQUEUE
        if chance < self._plan.requeue_chance + self._plan.reject_chance:
            return Settlement.REJECT
        return Settlement.ACK

    def _rarely(self, channel: ClientChannel) -> bytes:
        """Do one of the rare actions, if it is its turn: remove, cancel, or consume again."""
        if not channel.answered:
            return b""
        chance = self._random.random()
        if chance < self._plan.get_chance:
            return self._get(channel)
        chance -= self._plan.get_chance
        if chance < self._plan.renew_chance:
            return self._renew(channel)
        chance -= self._plan.renew_chance
        if chance < self._plan.removal_chance and channel.number == 1 and self._removable:
            return self._remove(channel, self._random.choice(self._removable))
        return b""

    def _get(self, channel: ClientChannel) -> bytes:
        gets = channel.plan.gets
        return channel.get(self._random.choice(gets)) if gets else b""

    def _renew(self, channel: ClientChannel) -> bytes:
        cancelled = [each for each in channel.plan.consumes if each.queue not in channel.active]
        if cancelled:
            return channel.consume(cancelled[0])
        if not channel.active:
            return b""
        return channel.cancel(self._random.choice(list(channel.active)))

    def _remove(self, channel: ClientChannel, queue: QueuePlan) -> bytes:
        kind = RemovalKind.DELETE if queue.disposable else RemovalKind.PURGE
        return channel.remove(kind, queue)

    # Connecting

    def _connect(self) -> None:
        if self._left:
            return
        link = self._machine.connect(self._received, self._lost)
        if link is None:
            self._later(RECONNECT_US, self._connect)
            return
        self.link = link
        self.session = Session(self._plan, self._scenario, self._history, self._memory, self._send)
        self._connected(link, self.session)
        self.session.begin()

    def _send(self, data: bytes) -> None:
        assert self.link is not None
        self.link.to_broker.send(data)

    def _received(self, data: bytes, sent: int) -> None:
        session = self.session
        if session is not None:
            session.receive_data(data, sent)
            if session.over:
                self._lost()

    def _lost(self) -> None:
        self._drop_session()
        self._later(RECONNECT_US, self._connect)

    def _drop_session(self) -> None:
        session, self.session = self.session, None
        link, self.link = self.link, None
        if session is not None and link is not None:
            session.end()
            link.client_gone()

    def _later(self, span_us: tuple[int, int], callback: Callable[[], None]) -> None:
        self._clock.after(self._random.randint(*span_us), callback)
