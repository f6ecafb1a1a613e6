"""Writing a script of a seed: it is played while it is written, so that an ack names a delivery
that is outstanding. Whoever plays it again sends the same octets.

A queue is used by one channel, so that it does not matter who has which turn. Within one read the
turns of the loop do matter where two requests, or a request and a dead letter, race for a place in
a queue or for a message (so they do in RabbitMQ, where queues and channels are processes). So there
are two kinds of scripts:

``wild``: chains and forks of dead letters, three queues deep; one request in each read. A message
comes to a queue on one way only, and what comes as a dead letter finds no limit there with overdue
messages in its way.
``calm``: bursts in one read. Each queue has dead letters in a queue of its own, where nothing else
goes, and which is read in a read of its own. A channel that consumes sends requests of one kind in
one read, and so does every channel where queues have length limits. It has one consumer: whose
turn it is among several depends on whose ack comes before a message is handed out.

What comes late, by a delayed exchange, comes to queues without a length limit: one that refuses
could do so before its consumers had their turn.

Length limits, times of different lengths, and priorities are in different scripts: together they
put what is overdue behind the head, where it is found before or after the next request.

Three rules are left to chance (1 of 2,000 scripts meets one, and 4 of 200 that are three times as
long). Between the portions of a reject of many its queue goes on, and what is overdue there dies
among those rejected. What a delayed exchange has due at once may be handed out one by one, and not
by priority. And the count of a quorum queue's message that is gone may stay until the next sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from mqkit.wire import Properties, content_frames, method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicConsume,
    BasicDeliver,
    BasicGet,
    BasicGetOk,
    BasicNack,
    BasicPublish,
    BasicQos,
    BasicRecover,
    BasicReject,
    ChannelClose,
    ChannelCloseOk,
    ChannelOpen,
    ConfirmSelect,
    ConnectionClose,
    ExchangeBind,
    ExchangeDeclare,
    ExchangeDelete,
    Method,
    QueueBind,
    QueueDeclare,
    QueueDelete,
    QueuePurge,
    QueueUnbind,
    TxCommit,
    TxRollback,
    TxSelect,
)
from reference_broker.testing.scripts.playing import Play
from reference_broker.testing.scripts.script import (
    Connect,
    Disconnect,
    Input,
    Send,
    SetPolicy,
    SyncDisk,
    Wait,
)

CHANNELS = (1, 2)
BURST_MAX = 14
_FRAME_MAX = 4_096
_QUEUES = 5
_ALL = range(_QUEUES)
_LEAVES = (3, 4)
"""Queues of wild scripts from which nothing goes on to another of the five."""
_WORDS = ("a", "b", "c")


def write(seed: int, inputs: int = 60) -> tuple[list[Input], Play]:
    """The script of a seed, and its play on a broker whose turns never end."""
    writer = _Writer(Random(f"script/{seed}"))
    writer.write(inputs)
    return writer.script, writer.play


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.script: list[Input] = []
        self.play = Play()
        self.seed = random.random()
        kind = random.random()
        self.has_limits = kind < 0.4
        self.has_priorities = kind > 0.8
        """Without limits and times: what is overdue may be behind the head then."""
        self.is_wild = random.random() < 0.5
        self.desks: list[_Desk] = []
        self._clients = 0

    def write(self, inputs: int) -> None:
        for _ in range(self.random.choice((1, 2))):
            self._connect()
        while len(self.script) < inputs:
            chance = self.random.random()
            if chance < 0.06:
                self.add(Wait(self.random.choice((20, 100, 400, 1_500))))
            elif chance < 0.10:
                self._set_policy()
            elif chance < 0.12:
                self._end_client()
            else:
                self.random.choice(self.desks).act()
            if self.random.random() < 0.7:
                self.add(SyncDisk())
        self.add(SyncDisk())

    def add(self, given: Input) -> None:
        self.script.append(given)
        self.play.take(given)

    def _connect(self) -> None:
        self._clients += 1
        self.add(Connect(self._clients, CHANNELS))
        self.desks += [_Desk(self, self._clients, number) for number in CHANNELS]

    def _end_client(self) -> None:
        """The socket goes, or the client closes the connection and then goes."""
        client = self.random.choice(self.desks).client
        if self.random.random() < 0.5:
            self.add(Send(client, method_frame(0, ConnectionClose()), "connection.close"))
        self.add(Disconnect(client))
        self.desks = [desk for desk in self.desks if desk.client != client]
        self._connect()

    def _set_policy(self) -> None:
        random = self.random
        name = f"policy-{random.randint(1, 2)}"
        limits: tuple[dict[str, Any], ...] = (
            {"max-length": random.randint(0, 6)},
            {"max-length": random.randint(0, 6), "overflow": "reject-publish"},
            {"max-length": random.randint(0, 4), "dead-letter-exchange": "amq.fanout"},
        )
        times: tuple[dict[str, Any], ...] = (
            {"message-ttl": random.choice((0, 50, 1_000) if self.is_wild else (50, 1_000))},
            {"message-ttl": 30, "dead-letter-exchange": "", "dead-letter-routing-key": "nowhere"},
        )
        kinds = limits if self.has_limits else times
        if self.has_priorities:
            kinds = ({"dead-letter-exchange": "amq.fanout"},)
        value = {
            "pattern": "q0$" if self.is_wild else random.choice(("q[0-2]$", "q4$", "q[0124]$")),
            "definition": random.choice(kinds),
            "apply-to": "queues",
            "priority": random.randint(0, 3),
        }
        self.add(SetPolicy(name, None if random.random() < 0.3 else value))


class _Desk:
    """One channel, what it declares, and what it does."""

    def __init__(self, writer: _Writer, client: int, number: int) -> None:
        self._writer = writer
        self._random = writer.random
        self.client = client
        self.number = number
        self._prefix = f"{client}.{number}."
        self._place = writer.play.place(client, number)
        self._heard: dict[str, int] = {}
        self._held: dict[int, None] = {}
        self._consumers: list[str] = []
        self._tags_made = self._published = 0
        self._is_tx = self._has_declared = False
        self._is_wild = writer.is_wild
        self._seed = writer.seed
        self._has_limits = writer.has_limits
        self._has_priorities = writer.has_priorities
        self._begin()

    # Acting

    def act(self) -> None:
        """Send the requests of one input."""
        self._listen()
        if self._consumers:
            self._send(*self._while_it_consumes())
            return
        chance = self._random.random()
        if chance < 0.12 and self._may_consume():
            self._send(*self._consume())
        elif chance < 0.15:
            self._send(*self._close())
        elif chance < 0.25:
            self._send(*self._gets_dead_letters())
        else:
            kinds = (self._publishes, self._acks, self._give_back, self._recover, self._transact,
                     self._gets, self._purge, self._declare_again, self._remove)  # fmt: skip
            pieces: list[bytes] = []
            is_alone = self._is_wild or self._has_limits
            for _ in range(1 if is_alone else self._random.choice((1, 1, 2, 4))):
                pieces += self._pick(kinds, (8, 4, 5, 1, 2, 6, 1, 2, 1))()
            self._send(*pieces)

    def _while_it_consumes(self) -> list[bytes]:
        kinds = (self._publishes, self._acks, self._give_back, self._recover, self._cancel,
                 self._limit, self._transact, self._declare_again, self._remove,
                 self._purge, self._close)  # fmt: skip
        return self._pick(kinds, (10, 6, 6, 1, 1, 1, 3, 1, 1, 1, 0.3))()

    def _pick(
        self, kinds: tuple[Callable[[], list[bytes]], ...], weights: tuple[float, ...]
    ) -> Callable[[], list[bytes]]:
        return self._random.choices(kinds, weights)[0]

    def _send(self, *pieces: bytes) -> None:
        if pieces:
            about = f"{len(pieces)} frames of channel {self.number}"
            self._writer.add(Send(self.client, b"".join(pieces), about))
        if self._has_declared:  # answers of two channels would come in any order
            self._has_declared = False
            self._writer.add(SyncDisk())

    def _frame(self, method: Method) -> bytes:
        return method_frame(self.number, method)

    def _listen(self) -> None:
        """Learn which messages are held, and whether the channel is still there."""
        play = self._writer.play
        if self.client not in play.clients:
            return
        place = play.place(self.client, self.number)
        if place != self._place:
            self._place, self._heard = place, {}
        told = play.told[place]
        news = [each for kind in told for each in told[kind][self._heard.get(kind, 0) :]]
        self._heard = {kind: len(told[kind]) for kind in told}
        for received in news:
            method = received.method
            if isinstance(method, BasicDeliver | BasicGetOk):
                self._held[method.delivery_tag] = None
            elif isinstance(method, BasicCancel):
                self._consumers = []
            elif isinstance(method, ChannelClose):
                self._send(self._frame(ChannelCloseOk()))
                self._reopen()
                return

    def _reopen(self) -> None:
        self._held, self._consumers = {}, []
        self._send(self._frame(ChannelOpen()))
        self._begin()

    def _begin(self) -> None:
        modes = ("plain", "confirms") if self._is_wild else ("plain", "confirms", "confirms", "tx")
        mode = self._random.choice(modes)
        self._is_tx = mode == "tx"
        first: list[Method] = []
        if mode == "confirms":
            first.append(ConfirmSelect())
        if self._is_tx:
            first.append(TxSelect())
        self._send(*map(self._frame, first), *self._declarations(_ALL))

    # Declaring

    def _name(self, queue: int, kind: str = "q") -> str:
        return f"{self._prefix}{kind}{queue}"

    def _declarations(self, queues: Any) -> list[bytes]:
        """Exchanges of all types, some queues, and their bindings."""
        prefix = self._prefix
        self._has_declared = True
        deduplication = {"x-cache-size": 20}
        delayed = {"x-delayed-type": "topic"}
        methods: list[Method] = [
            ExchangeDeclare(f"{prefix}fanout", "fanout", durable=True),
            ExchangeDeclare(f"{prefix}topic", "topic", durable=True),
            ExchangeDeclare(f"{prefix}headers", "headers"),
            ExchangeDeclare(f"{prefix}later", "x-delayed-message", arguments=delayed),
            ExchangeDeclare(f"{prefix}once", "x-message-deduplication", arguments=deduplication),
            ExchangeBind(f"{prefix}fanout", f"{prefix}once"),
            ExchangeDeclare(f"{prefix}fork0", "fanout", durable=True),
            ExchangeDeclare(f"{prefix}fork1", "fanout"),
        ]
        for queue in queues:
            methods.append(QueueDeclare(self._name(queue, "d"), durable=True))
            methods += self._queue(queue)
        # A mistake, such as other arguments than before, closes the channel: each by itself.
        return list(map(self._frame, methods))

    def _queue(self, queue: int) -> list[Method]:
        random, prefix, name = self._random, self._prefix, self._name(queue)
        # The arguments are those of its name, so that it can be declared again.
        arguments = self._its(queue)
        durable = queue != 1
        exclusive = queue == 3
        headers = {"x-match": random.choice(("all", "any")), "h": random.choice(_WORDS), "i": 1}
        declare = QueueDeclare(name, durable=durable, exclusive=exclusive, arguments=arguments)
        topic = QueueBind(name, f"{prefix}topic", f"{random.choice(_WORDS)}.#")
        others: list[Method] = [
            QueueBind(name, f"{prefix}topic", f"*.{random.choice(_WORDS)}"),
            QueueBind(name, f"{prefix}headers", "", arguments=headers),
            QueueBind(name, f"{prefix}fanout"),
        ]
        if not self._has_limits:
            others.append(QueueBind(name, f"{prefix}later", "#"))
        if not self._is_wild:
            return [declare, topic, *others]
        fork = QueueBind(name, f"{prefix}fork{'0' if queue < 3 else '1'}")
        if queue == 0:
            return [declare, topic]
        return [declare, fork, *(others if queue in _LEAVES else [])]

    def _its(self, queue: int) -> dict[str, Any]:
        return self._arguments(Random(f"{self._seed}/{self._name(queue)}"), queue)

    def _arguments(self, random: Random, queue: int) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        if queue == 2 and random.random() < 0.6:
            arguments |= {"x-queue-type": "quorum", "x-delivery-limit": random.randint(1, 3)}
        elif self._has_priorities:
            arguments["x-max-priority"] = random.choice((3, 9))
        is_plain = "x-queue-type" not in arguments
        if not self._has_priorities and random.random() < 0.4:
            times_ms = (0, 40, 300) if self._is_wild and not self._has_limits else (40, 300, 2_000)
            arguments["x-message-ttl"] = random.choice(times_ms)
        is_overdue_within = self._is_wild and queue > 0 and "x-message-ttl" in arguments
        if self._has_limits and queue != 3 and not is_overdue_within:
            arguments |= self._limits(
                random, is_head=is_plain and (not self._is_wild or queue == 0)
            )
        if random.random() < 0.7:
            arguments |= self._dead_letters_of(queue, is_fork=random.random() < 0.5)
        if is_plain and random.random() < 0.15:
            arguments["x-message-id-window"] = 30
        return arguments

    def _limits(self, random: Random, *, is_head: bool) -> dict[str, Any]:
        """A length limit, or none; of any overflow where the queue ``is_head`` of no chain."""
        if random.random() >= 0.4:
            if random.random() < 0.15:
                return {"x-max-length-bytes": random.randint(50, 500)}
            return {}
        limits: dict[str, Any] = {"x-max-length": random.randint(0, 8)}
        if is_head:
            overflows = ("drop-head", "reject-publish", "reject-publish-dlx")
            limits["x-overflow"] = random.choice(overflows)
        return limits

    def _dead_letters_of(self, queue: int, *, is_fork: bool) -> dict[str, str]:
        if not self._is_wild or queue > 1:
            key = self._name(queue, "d")
        elif is_fork:
            return {"x-dead-letter-exchange": f"{self._prefix}fork{queue}"}
        else:
            key = self._name(1 if queue == 0 else 3)
        return {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": key}

    def _declare_again(self) -> list[bytes]:
        return self._declarations([self._random.randrange(_QUEUES)])

    def _remove(self) -> list[bytes]:
        random, name = self._random, self._name(self._random.randrange(_QUEUES))
        self._has_declared = True
        exchange = f"{self._prefix}{random.choice(('fanout', 'topic', 'headers', 'later'))}"
        method: Method = random.choice((
            QueueDelete(name), QueueDelete(name), QueueUnbind(name, f"{self._prefix}fanout"),
            ExchangeDelete(exchange),
        ))  # fmt: skip
        # A publish to an exchange that is missing ends its channel: before or after deliveries.
        is_again = random.random() < 0.7 or (
            method == ExchangeDelete(exchange) and not self._is_wild
        )
        again = self._declarations(range(_QUEUES)) if is_again else []
        return [self._frame(method), *again]

    # Publishing

    def _publishes(self) -> list[bytes]:
        bursts = (1,) if self._is_wild else (1, 2, 5, BURST_MAX)
        return [self._publish() for _ in range(self._random.choice(bursts))]

    def _publish(self) -> bytes:
        random, prefix = self._random, self._prefix
        self._published += 1
        key = f"{random.choice(_WORDS)}.{random.choice(_WORDS)}"
        headers: dict[str, Any] = {}
        exchange = random.choice(("", "", "fanout", "fanout", "topic", "headers", "later", "once"))
        if exchange == "":
            key = self._name(random.randrange(_QUEUES + 1))  # the last one is nowhere
            if not self._is_wild and random.random() < 0.15:
                headers["CC"] = [self._name(random.randrange(_QUEUES)) for _ in range(2)]
        elif exchange == "headers":
            headers |= {"h": random.choice(_WORDS), "i": random.choice((1, 2))}
        elif exchange == "later":
            headers["x-delay"] = random.choice((0, 30, 200))
        elif exchange == "once":
            headers["x-deduplication-header"] = f"key-{random.randint(1, 6)}"
        expirations: tuple[str | None, ...] = (None, None, None, "60", "900")
        if self._is_wild:
            expirations = (None, None, "0", "60") if key == self._name(0) else (None,)
        if self._has_limits or self._has_priorities:
            expirations = (None,)
        properties = Properties(
            headers=headers or None,
            delivery_mode=random.choice((1, 2, 2)),
            priority=random.choice((None, None, 1, 5)),
            expiration=random.choice(expirations),
            message_id=random.choice((None, f"id-{random.randint(1, 9)}")),
        )
        body = f"{prefix}{self._published}".encode().ljust(random.choice((8, 60, 300)), b".")
        method = BasicPublish(
            f"{prefix}{exchange}" if exchange else "", key, mandatory=random.random() < 0.3
        )
        return content_frames(self.number, method, properties, body, _FRAME_MAX)

    def _transact(self) -> list[bytes]:
        if not self._is_tx:
            return self._publishes()
        end = self._random.choice((TxCommit(), TxCommit(), TxRollback()))
        return [self._frame(end)]

    # Taking

    def _consume(self) -> list[bytes]:
        random = self._random
        queue = self._name(random.randrange(_QUEUES))
        tag = f"{queue}/{self._tags_made}"
        self._tags_made += 1
        self._consumers.append(tag)
        qos = BasicQos(prefetch_count=random.choice((0, 1, 3, 10)), global_=random.random() < 0.2)
        return list(map(self._frame, (qos, BasicConsume(queue, tag))))

    def _may_consume(self) -> bool:
        """Not where a commit could fail, and not by priority: who is first has a lot."""
        if self._is_tx and self._has_limits:
            return False
        return self._is_wild or not self._has_priorities

    def _limit(self) -> list[bytes]:
        return [self._frame(BasicQos(prefetch_count=self._random.randint(0, 5), global_=True))]

    def _cancel(self) -> list[bytes]:
        tag = self._consumers.pop(self._random.randrange(len(self._consumers)))
        return [self._frame(BasicCancel(tag))]

    def _gets(self) -> list[bytes]:
        name = self._name(self._random.randrange(_QUEUES))
        count = 1 if self._is_wild else self._random.choice((1, 3, 8))
        return [self._frame(BasicGet(name)) for _ in range(count)]

    def _gets_dead_letters(self) -> list[bytes]:
        name = self._name(self._random.randrange(_QUEUES), "d")
        return [self._frame(BasicGet(name)) for _ in range(1 if self._is_wild else 5)]

    def _purge(self) -> list[bytes]:
        return [self._frame(QueuePurge(self._name(self._random.randrange(_QUEUES))))]

    def _recover(self) -> list[bytes]:
        self._held.clear()
        return [self._frame(BasicRecover(requeue=True))]

    def _acks(self) -> list[bytes]:
        frames: list[bytes] = []
        for _ in range(1 if self._is_wild else self._random.choice((1, 3, 8))):
            tag, multiple = self._settled()
            if tag:
                frames.append(self._frame(BasicAck(tag, multiple)))
        return frames

    def _give_back(self) -> list[bytes]:
        """Requeue or reject, one message or many."""
        tag, multiple = self._settled()
        requeue = self._random.random() < 0.5
        if not tag:
            return []
        if not multiple and self._random.random() < 0.5:
            return [self._frame(BasicReject(tag, requeue))]
        return [self._frame(BasicNack(tag, multiple, requeue))]

    def _settled(self) -> tuple[int, bool]:
        """A tag to be settled, and whether those before it are, too; 0 where nothing is held."""
        if not self._held:
            return 0, False
        multiple = self._random.random() < 0.5
        tag = self._random.choice(list(self._held))
        for held in list(self._held):
            if held == tag or (multiple and held < tag):
                del self._held[held]
        return tag, multiple

    def _close(self) -> list[bytes]:
        """Close the channel, and open it again at once."""
        self._held, self._consumers = {}, []
        self._is_tx = False
        again = self._declarations(_ALL)
        return [*map(self._frame, (ChannelClose(200), ChannelOpen())), *again]
