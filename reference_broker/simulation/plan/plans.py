"""Parts of a scenario: the queues, the clients' behaviour, the broker's settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from mqkit.wire.methods import (
    BasicConsume,
    BasicQos,
    ConfirmSelect,
    ExchangeDeclare,
    Method,
    QueueBind,
    QueueDeclare,
)
from reference_broker.core.base.limits import MIB
from reference_broker.core.work.budget import UNLIMITED_UNITS
from reference_broker.runtime.net.paced_output import PORTION_BYTES
from reference_broker.simulation.plan.fault_profile import MIXED, FaultProfile
from reference_broker.store.format.record import CHUNK_BYTES

FANOUT = "fan"

Route = tuple[str, str, tuple[str, ...]]
"""An exchange, a routing key, and the queues that they lead to."""


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """A queue. ``owner`` is the only client that takes from it; ``None`` lets anybody."""

    name: str
    owner: int | None = None
    dead_letters_to: str | None = None
    in_fanout: bool = False
    durable: bool = True
    ttl_ms: int | None = None
    max_length: int | None = None
    overflow: str = "drop-head"
    max_priority: int = 0
    waits: bool = False
    """Rejected messages of another queue wait here until they expire, and go back to it. Nobody
    consumes or publishes here."""
    retries: bool = False
    """Rejected messages of this queue come back, from a queue that ``waits``."""
    purged: bool = False
    """Its owner purges it now and then."""
    disposable: bool = False
    """Its owner deletes it now and then, and declares it again. Nobody else knows of it."""

    @property
    def takes_expirations(self) -> bool:
        """True if messages with an expiration may go here. In a queue that ``retries`` they would
        be dropped as a cycle."""
        return not (self.retries or self.waits)

    def declaration(self) -> QueueDeclare:
        """The method by which every client declares the queue."""
        arguments: dict[str, Any] = {}
        if self.dead_letters_to is not None:
            arguments["x-dead-letter-exchange"] = ""
            arguments["x-dead-letter-routing-key"] = self.dead_letters_to
        if self.ttl_ms is not None:
            arguments["x-message-ttl"] = self.ttl_ms
        if self.max_length is not None:
            arguments["x-max-length"] = self.max_length
            arguments["x-overflow"] = self.overflow
        if self.max_priority:
            arguments["x-max-priority"] = self.max_priority
        return QueueDeclare(queue=self.name, durable=self.durable, arguments=arguments)


@dataclass(frozen=True, slots=True)
class Consume:
    """A channel's way to take from a queue, by basic.consume and by basic.get alike."""

    queue: str
    alone: bool = False
    no_ack: bool = False


@dataclass(frozen=True, slots=True)
class ChannelPlan:
    """A channel. A prefetch of 0 is none; ``channel_prefetch`` is for its consumers together."""

    prefetch: int
    channel_prefetch: int = 0
    consumes: tuple[Consume, ...] = ()
    gets: tuple[Consume, ...] = ()

    @property
    def takes(self) -> tuple[Consume, ...]:
        """Every queue that the channel takes from, with the way."""
        return self.consumes + self.gets

    def setup(self) -> list[Method]:
        """The methods that the client sends first on this channel. Each has one answer."""
        methods: list[Method] = [ConfirmSelect(), BasicQos(prefetch_count=self.prefetch)]
        if self.channel_prefetch:
            methods.append(BasicQos(prefetch_count=self.channel_prefetch, global_=True))
        return methods


@dataclass(frozen=True, slots=True)
class ClientPlan:
    """Behaviour of a client. Chances are per action, of which there is one every ``pause_us``."""

    index: int
    channels: tuple[ChannelPlan, ...]
    pause_us: tuple[int, int]
    publish_chance: float = 0.0
    batch_max: int = 1
    transient_chance: float = 0.0
    expiration_chance: float = 0.0
    requeue_chance: float = 0.0
    reject_chance: float = 0.0
    get_chance: float = 0.0
    renew_chance: float = 0.0
    """Chance to cancel a consumer, or to begin a cancelled one again."""
    run_chance: float = 0.0
    """Chance that a publish is a run of messages to one place, and a settlement one of acks in
    order."""
    removal_chance: float = 0.0
    """Chance to purge, or to delete and declare again, one of its own queues that are meant for
    it."""
    frame_max: int = 131_072
    eager: bool = False
    """The client publishes behind its declarations, without waiting for their answers."""


def consume(plan: Consume, tag: str) -> BasicConsume:
    """The method that begins a consumer."""
    return BasicConsume(
        queue=plan.queue, consumer_tag=tag, no_ack=plan.no_ack, exclusive=plan.alone
    )


class Syncing(Enum):
    """Ways to say which small batches the loop writes and syncs by itself."""

    BY_CHANCE = "by chance"
    MEASURED = "measured"
    """The runtime's own choice, on a disk that is quick, mostly."""
    BY_THREAD = "by the thread"
    """None, as on a disk that is always slow."""


class Copying(Enum):
    """Ways of the worker to make the copy of a segment that is rewritten."""

    BY_STEP = "by step"
    """One operation of the disk after the other."""
    AT_ONCE = "at once"
    """All of it between two events, like a thread that nobody disturbs."""
    SLOWLY = "slowly"
    """By step, on a disk that takes most of a second for a small segment, until nothing fails any
    more."""


@dataclass(frozen=True, slots=True)
class SystemPlan:
    """The broker has its disk as it has it outside: through the runtime's data folder, and calls of
    a system."""

    short_chance: float
    """Chance that a read or a write does less than it was asked for."""
    syncing: Syncing


@dataclass(frozen=True, slots=True)
class BrokerPlan:
    """Settings of the broker: everything small, so that little traffic makes it do all it can."""

    segment_bytes: int
    """Bytes of a segment of the log, and of a page."""
    window_bytes: int = 8 * MIB
    """Bytes of ready messages that a queue keeps in memory; the rest has to be read again."""
    memory_bytes: int = 1_024 * MIB
    """The memory watermark: messages that are not in the log go to pages from half of it on."""
    vhosts: tuple[str, ...] = ()
    """Virtual hosts beside the default one."""
    chunk_bytes: int = CHUNK_BYTES
    """Bytes above which a body stands in the log in chunks, of so many bytes each."""
    turn_units: int = UNLIMITED_UNITS
    """Units of work in one turn of the loop."""
    system: SystemPlan | None = None
    """Without it, operations of the store go to the disk as they are, and any of the small batches
    are the loop's."""
    portion_bytes: int = PORTION_BYTES
    """Bytes above which output goes to its socket in portions, and of one read in a turn."""
    copying: Copying = Copying.BY_STEP
    disk_free_limit_bytes: int = 0
    """With less free on the disk publishers are blocked. It has plenty until it is full."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run. Dead letters of two queues never meet, so each queue has a dead-letter queue of its
    own."""

    seed: int
    queues: tuple[QueuePlan, ...]
    clients: tuple[ClientPlan, ...]
    broker: BrokerPlan
    fault_pause_us: tuple[int, int]
    duration_us: int
    faults: FaultProfile = MIXED
    bit_rot: bool = False
    reads_fail: bool = False
    """A file can't be read for a moment; then no bit is flipped, and there are no features."""
    clock_is_set: bool = False
    """Somebody sets the clock of the broker's machine, again and again."""
    declares_once: bool = False
    """Clients do not declare again what they were told is there, and durable."""
    features: tuple[str, ...] = ()
    """Names of the features at work beside the clients
    (:mod:`~reference_broker.simulation.plan.feature_names`)."""

    @property
    def dead_letters(self) -> dict[str, str]:
        """The dead-letter queue of each queue; a queue that isn't here drops dead messages."""
        return {
            queue.name: queue.dead_letters_to
            for queue in self.queues
            if queue.dead_letters_to is not None
        }

    @property
    def fanout(self) -> tuple[str, ...]:
        """The queues that get what is published to :data:`FANOUT`."""
        return tuple(queue.name for queue in self.queues if queue.in_fanout)

    def known_to(self, client: ClientPlan) -> Iterator[QueuePlan]:
        """The queues that a client declares; the drainer, who comes last, declares all."""
        last = client.index >= len(self.clients)
        for queue in self.queues:
            if last or not queue.disposable or queue.owner == client.index:
                yield queue

    def topology(self, client: ClientPlan) -> list[Method]:
        """The methods by which a client declares everything. Each has one answer."""
        methods: list[Method] = [ExchangeDeclare(FANOUT, "fanout", durable=True)]
        for queue in self.known_to(client):
            methods.append(queue.declaration())
            if queue.in_fanout:
                methods.append(QueueBind(queue=queue.name, exchange=FANOUT))
        return methods

    def routes(self, client: ClientPlan, channel: int) -> Sequence[Route]:
        """The routes by which a client publishes on its ``channel``-th channel (0 is the first): a
        disposable queue has to be deleted, declared and published to in one order."""
        routes: list[Route] = [
            ("", queue.name, (queue.name,))
            for queue in self.known_to(client)
            if not queue.waits and (channel == 0 or not queue.disposable)
        ]
        if self.fanout:
            routes.append((FANOUT, "", self.fanout))
        return routes

    @property
    def probe(self) -> Route:
        """A route to a queue that takes every message and logs it."""
        queue = next(
            each
            for each in self.queues
            if each.durable and each.max_length is None and not each.waits
        )
        return "", queue.name, (queue.name,)

    def drainer(self) -> ClientPlan:
        """The client that comes last, has every queue for itself, and acks all there is."""
        everything = tuple(Consume(queue.name, alone=True) for queue in self.queues)
        return ClientPlan(
            index=len(self.clients),
            channels=(ChannelPlan(prefetch=100, consumes=everything),),
            pause_us=(5_000, 20_000),
        )
