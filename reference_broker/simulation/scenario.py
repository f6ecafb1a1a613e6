"""What a seed decides about a run before it begins: the queues, the clients and the faults."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from mqkit.wire.methods import (
    BasicConsume,
    BasicQos,
    ConfirmSelect,
    ExchangeDeclare,
    Method,
    QueueBind,
    QueueDeclare,
)

FANOUT = "fan"
DURATION_US = 30_000_000
"""How long faults and clients go on, in virtual time."""

_SHARED_QUEUES_MAX = 2
_CLIENTS = (2, 4)


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """A durable queue. ``owner`` is the client that consumes it alone; ``None`` for anybody."""

    name: str
    owner: int | None
    dead_letters_to: str | None
    in_fanout: bool

    def declaration(self) -> QueueDeclare:
        """How every client declares it."""
        arguments = {}
        if self.dead_letters_to is not None:
            arguments["x-dead-letter-exchange"] = ""
            arguments["x-dead-letter-routing-key"] = self.dead_letters_to
        return QueueDeclare(queue=self.name, durable=True, arguments=arguments)


@dataclass(frozen=True, slots=True)
class ClientPlan:
    """How a client behaves. Chances are per action, of which there is one every ``pause_us``."""

    index: int
    pause_us: tuple[int, int]
    publish_chance: float
    batch_max: int
    transient_chance: float
    requeue_chance: float
    reject_chance: float
    prefetch: int
    frame_max: int
    eager: bool
    """Publishes behind its declarations, without waiting for their answers."""
    consumes: tuple[tuple[str, bool], ...]
    """Names of queues, each with whether it is alone there."""


@dataclass(frozen=True, slots=True)
class Scenario:
    seed: int
    queues: tuple[QueuePlan, ...]
    clients: tuple[ClientPlan, ...]
    segment_bytes: int
    fault_pause_us: tuple[int, int]
    duration_us: int

    @property
    def dead_letters(self) -> dict[str, str]:
        """Where rejected messages go, by queue; a queue that isn't here drops them."""
        return {
            queue.name: queue.dead_letters_to
            for queue in self.queues
            if queue.dead_letters_to is not None
        }

    @property
    def fanout(self) -> tuple[str, ...]:
        """The queues that get what is published to :data:`FANOUT`."""
        return tuple(queue.name for queue in self.queues if queue.in_fanout)

    def setup(self, client: ClientPlan) -> list[Method]:
        """What a client says on its channel first. Each method has one answer."""
        methods: list[Method] = [ConfirmSelect(), ExchangeDeclare(FANOUT, "fanout", durable=True)]
        for queue in self.queues:
            methods.append(queue.declaration())
            if queue.in_fanout:
                methods.append(QueueBind(queue=queue.name, exchange=FANOUT))
        methods.append(BasicQos(prefetch_count=client.prefetch))
        for name, alone in client.consumes:
            methods.append(BasicConsume(queue=name, consumer_tag=name, exclusive=alone))
        return methods

    def drainer(self) -> ClientPlan:
        """The client that comes last, has every queue for itself, and acks all there is."""
        return ClientPlan(
            index=len(self.clients),
            pause_us=(5_000, 20_000),
            publish_chance=0.0,
            batch_max=1,
            transient_chance=0.0,
            requeue_chance=0.0,
            reject_chance=0.0,
            prefetch=100,
            frame_max=131_072,
            eager=False,
            consumes=tuple((queue.name, True) for queue in self.queues),
        )


def draw(seed: int, duration_us: int = DURATION_US) -> Scenario:
    """The scenario of a seed."""
    random = Random(f"scenario/{seed}")
    count = random.randint(*_CLIENTS)
    queues: list[QueuePlan] = []
    for number in range(random.randint(1, _SHARED_QUEUES_MAX)):
        queues += _queues(random, f"shared-{number}", None)
    for owner in range(random.randint(1, count)):
        queues += _queues(random, f"solo-{owner}", owner)
    return Scenario(
        seed=seed,
        queues=tuple(queues),
        clients=tuple(_client(random, index, queues) for index in range(count)),
        segment_bytes=random.choice((4_096, 16_384, 65_536)),
        fault_pause_us=random.choice(((200_000, 3_000_000), (1_000_000, 10_000_000))),
        duration_us=duration_us,
    )


def _queues(random: Random, name: str, owner: int | None) -> list[QueuePlan]:
    """A queue, and the one for its dead letters if it has any: one of its own, since a message
    that a fanout put into two queues may die twice."""
    in_fanout = random.random() < 0.5
    if random.random() < 0.5:
        return [QueuePlan(name, owner, None, in_fanout)]
    dead = QueuePlan(f"dead-{name}", None, None, in_fanout=False)
    return [dead, QueuePlan(name, owner, dead.name, in_fanout)]


def _client(random: Random, index: int, queues: list[QueuePlan]) -> ClientPlan:
    consumes = [(queue.name, True) for queue in queues if queue.owner == index]
    shared = [queue.name for queue in queues if queue.owner is None]
    consumes += [(name, False) for name in shared if random.random() < 0.6]
    fastest_us = random.choice((40_000, 100_000, 300_000))
    return ClientPlan(
        index=index,
        pause_us=(fastest_us, 4 * fastest_us),
        publish_chance=random.uniform(0.2, 0.6),
        batch_max=random.choice((1, 3, 10)),
        transient_chance=random.choice((0.0, 0.1)),
        requeue_chance=random.uniform(0.0, 0.3),
        reject_chance=random.uniform(0.0, 0.2),
        prefetch=random.choice((1, 3, 10, 0)),
        frame_max=random.choice((4_096, 131_072)),
        eager=random.random() < 0.5,
        consumes=tuple(consumes),
    )
