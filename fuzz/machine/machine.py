"""The machine: every rule is something that a client does, and all of it is checked at once.

No rule takes care to be right. What the broker has to refuse is known beforehand, and that it did
is checked as well as what came of everything else.
"""

from __future__ import annotations

from collections import defaultdict

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from fuzz.machine.channel import ChannelLedger, HeldPublish, Publish, Subscription
from fuzz.machine.client import HandedOut, MachineClient
from fuzz.machine.journal import PatientJournal
from fuzz.machine.line import Line, body_of, number_in
from mqkit.wire import Properties, content_frames, method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicConsume,
    BasicGet,
    BasicGetEmpty,
    BasicNack,
    BasicPublish,
    BasicQos,
    BasicRecover,
    BasicReject,
    ChannelClose,
    ChannelFlow,
    ChannelOpen,
    ConfirmSelect,
    ConnectionClose,
    ExchangeDeclare,
    Method,
    QueueBind,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueuePurge,
    QueuePurgeOk,
    TxCommit,
    TxRollback,
    TxSelect,
)
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.simulation.disk.bookkeeping import held_for_clients, held_for_messages
from reference_broker.testing.lone_broker import LoneBroker

FANOUT = "all"
QUEUES = {
    "durable": QueueDeclare("durable", durable=True),
    "quorum": QueueDeclare("quorum", durable=True, arguments={"x-queue-type": "quorum"}),
    "passing": QueueDeclare("passing", arguments={"x-message-ttl": 5_000}),
    "brief": QueueDeclare("brief", auto_delete=True),
    "mine": QueueDeclare("mine", exclusive=True),
}
HEARTBEATS_S = (0, 10)
MESSAGE_FRAME_MAX = 4096
"""So that a body of some thousand bytes is several frames."""

clients = st.integers(0, len(HEARTBEATS_S) - 1)
channels = st.integers(1, 2)
queues = st.sampled_from(["durable"] * 4 + ["quorum"] * 4 + ["passing", "brief", "brief", "mine"])
seldom = st.integers(0, 9).map(lambda number: number == 9)
cuts = st.one_of(st.just(1 << 20), st.integers(0, 60))


class ConnectionMachine(RuleBasedStateMachine):
    """Two connections of one broker, and what it has to hold for them."""

    @initialize(patient=st.booleans())
    def begin(self, patient: bool) -> None:
        self.broker = LoneBroker(PatientJournal() if patient else MemoryJournal())
        self.clients = [MachineClient(self.broker, each) for each in HEARTBEATS_S]
        self.lines: dict[str, Line] = {}
        self.numbers = 0
        self.tags = 0
        declaration = ExchangeDeclare(FANOUT, "fanout", durable=True)
        self.open(0, 1)
        self.tell(0, 1, declaration)
        for name in ("durable", "quorum", "passing", "brief"):
            self.declare_right(0, 1, name)
        for name in ("durable", "quorum"):
            self.bind(0, 1, name)

    # What the rules are made of

    def open(self, client: int, number: int) -> None:
        """Have that channel open, with a new connection if need be."""
        if self.clients[client].ended:
            self.clients[client].disconnect()
            self.clients[client] = MachineClient(self.broker, HEARTBEATS_S[client])
            self.collect()
        if number not in self.clients[client].channels:
            self.clients[client].channels[number] = ChannelLedger()
            self.tell(client, number, ChannelOpen())
        self.finish(client, number)
        if number not in self.clients[client].channels:
            self.open(client, number)

    def ledger(self, client: int, number: int) -> ChannelLedger:
        self.open(client, number)
        return self.clients[client].channels[number]

    def tell(
        self, client: int, number: int, *methods: Method, cut: int = 1 << 20, sync: bool = True
    ) -> list[Method]:
        """Send methods on a channel; what was answered."""
        data = b"".join(method_frame(number, method) for method in methods)
        self.clients[client].send(data, cut)
        self.collect(sync=sync)
        return self.clients[client].answers

    def finish(self, client: int, number: int) -> None:
        """A message that was begun on that channel has to end before anything else."""
        ledger = self.clients[client].channels.get(number)
        while ledger is not None and ledger.frames:
            self.send_frame(client, ledger)

    def send_frame(self, client: int, ledger: ChannelLedger, cut: int = 1 << 20) -> None:
        frame = ledger.frames.pop(0)
        if not ledger.frames:
            self.arrive(ledger)
        self.clients[client].send(frame, cut)
        self.collect(sync=not ledger.frames)

    def arrive(self, ledger: ChannelLedger) -> None:
        """The last frame of a message is sent now."""
        assert ledger.coming is not None
        coming, ledger.coming = ledger.coming, None
        if coming.exchange == FANOUT:
            lines = tuple(line for line in self.lines.values() if line.is_bound)
        elif coming.exchange == "":
            lines = tuple(filter(None, [self.lines.get(coming.routing_key)]))
        else:
            return  # the broker has to close the channel
        if ledger.confirming:
            ledger.published += 1
            ledger.unconfirmed[ledger.published] = coming.number
        if ledger.transacting:
            ledger.held_publishes.append(HeldPublish(coming.number, lines))
            return
        for line in lines:
            line.arrive(coming.number)

    def collect(self, *, sync: bool = True) -> None:
        """Read what all clients were sent, and hold it against the ledger."""
        if sync:
            self.broker.sync()
        handed_out: HandedOut = defaultdict(list)
        for client in self.clients:
            for line, deliveries in client.collect().items():
                handed_out[line] += deliveries
        for line, deliveries in handed_out.items():
            line.hand_out(deliveries)
        for client in self.clients:
            for line, number in client.auto_acked:
                line.settle(number)
            client.auto_acked.clear()
            if sync:
                for ledger in client.channels.values():
                    assert not ledger.unconfirmed, f"no confirm for {ledger.unconfirmed}"
        there = self.broker.broker.vhosts["/"].queues
        for name in [name for name in self.lines if name not in there]:
            assert self.lines.pop(name).may_vanish, f"queue {name} is gone"

    def ready(self, line: Line) -> set[int]:
        """The messages of a queue that no consumer holds."""
        out = {
            delivery.number
            for client in self.clients
            for ledger in client.channels.values()
            for delivery in ledger.outstanding()
            if delivery.line is line
        }
        return set(line.kept) - out

    def closed(self, client: int) -> bool:
        """Was the channel, or all of the connection, closed by the last command?"""
        answers = self.clients[client].answers
        return any(isinstance(each, ChannelClose | ConnectionClose) for each in answers)

    # Queues

    @rule(client=clients, number=channels, name=st.sampled_from(sorted(QUEUES)), cut=cuts)
    def declare_right(self, client: int, number: int, name: str, cut: int = 1 << 20) -> None:
        self.open(client, number)
        answers = self.tell(client, number, QUEUES[name], cut=cut)
        if any(isinstance(each, QueueDeclareOk) for each in answers):
            self.lines.setdefault(
                name,
                Line(
                    name,
                    leaks=name == "passing",
                    may_vanish=name in ("brief", "mine"),
                ),
            )
        else:
            assert self.closed(client)
            assert name == "mine"

    @rule(client=clients, number=channels, name=queues, wrong=seldom)
    def declare_wrong(self, client: int, number: int, name: str, wrong: bool) -> None:
        if wrong and name in self.lines:
            self.open(client, number)
            self.tell(client, number, QueueDeclare(name, durable=name != "durable"))
            assert self.closed(client)

    @rule(client=clients, number=channels, name=queues)
    def bind(self, client: int, number: int, name: str) -> None:
        self.open(client, number)
        self.tell(client, number, QueueBind(name, FANOUT, ""))
        if not self.closed(client):
            self.lines[name].is_bound = True

    @rule(client=clients, number=channels, name=queues, really=seldom)
    def purge(self, client: int, number: int, name: str, really: bool) -> None:
        if not really:
            return
        self.open(client, number)
        line = self.lines.get(name)
        ready = self.ready(line) if line is not None else set()
        for answer in self.tell(client, number, QueuePurge(name)):
            if isinstance(answer, QueuePurgeOk):
                assert line is not None
                assert line.leaks or answer.message_count == len(ready)
                for each in ready:
                    line.settle(each)

    @rule(client=clients, number=channels, name=queues, if_unused=st.booleans(), really=seldom)
    def delete(self, client: int, number: int, name: str, if_unused: bool, really: bool) -> None:
        if not really:
            return
        self.open(client, number)
        line = self.lines.get(name)
        if line is not None:
            may_vanish, line.may_vanish = line.may_vanish, True
        self.tell(client, number, QueueDelete(name, if_unused=if_unused))
        if line is not None:
            line.may_vanish = may_vanish

    # Publishing

    @rule(
        client=clients,
        number=channels,
        name=queues,
        exchange=st.sampled_from([FANOUT] * 4 + [""] * 7 + ["nowhere"]),
        size=st.sampled_from([0, 10, 5_000, 9_000]),
        persistent=st.booleans(),
        count=st.integers(1, 4),
        frames=st.sampled_from([1, 2, 3, 9, 9, 9, 9]),
        cut=cuts,
    )
    def publish(
        self,
        client: int,
        number: int,
        name: str,
        exchange: str,
        size: int,
        persistent: bool,
        count: int,
        frames: int,
        cut: int,
    ) -> None:
        """Messages, of the last one maybe only the first frames: the others with ``go_on``, or
        before what comes next on that channel."""
        method = BasicPublish(exchange, name, mandatory=True)
        properties = Properties(delivery_mode=2 if persistent else 1)
        for left in reversed(range(count)):
            ledger = self.ledger(client, number)
            self.numbers += 1
            body = body_of(self.numbers, size)
            data = content_frames(number, method, properties, body, MESSAGE_FRAME_MAX)
            ledger.coming = Publish(self.numbers, exchange, name)
            ledger.frames = _frames_of(data)
            kept = 0 if left else max(0, len(ledger.frames) - frames)
            while len(ledger.frames) > kept:
                self.send_frame(client, ledger, cut)

    @rule(client=clients, number=channels, cut=cuts)
    def go_on(self, client: int, number: int, cut: int) -> None:
        ledger = self.clients[client].channels.get(number)
        if ledger is not None and ledger.frames:
            self.send_frame(client, ledger, cut)

    @rule(client=clients, number=channels, really=seldom)
    def interrupt(self, client: int, number: int, really: bool) -> None:
        """A method where a body is expected ends the connection."""
        ledger = self.clients[client].channels.get(number)
        if not really or ledger is None or not ledger.frames or ledger.frames[0][0] == 1:
            return
        self.tell(client, number, BasicQos(0, 1))
        assert self.clients[client].ended

    # Consuming

    @rule(
        client=clients,
        number=channels,
        name=queues,
        no_ack=st.booleans(),
        exclusive=st.sampled_from([False, False, False, True]),
        prefetch=st.integers(0, 3),
    )
    def consume(
        self,
        client: int,
        number: int,
        name: str,
        no_ack: bool,
        exclusive: bool,
        prefetch: int,
    ) -> None:
        ledger = self.ledger(client, number)
        self.tags += 1
        tag = f"consumer-{self.tags}"
        if name in self.lines:
            ledger.consumers[tag] = Subscription(self.lines[name], no_ack)
        consume = BasicConsume(name, tag, no_ack=no_ack, exclusive=exclusive)
        self.tell(client, number, BasicQos(0, prefetch), consume)

    @rule(client=clients, number=channels)
    def cancel(self, client: int, number: int) -> None:
        ledger = self.ledger(client, number)
        if ledger.consumers:
            tag = next(iter(ledger.consumers))
            self.tell(client, number, BasicCancel(tag))
            ledger.consumers.pop(tag, None)

    @rule(client=clients, number=channels, name=queues, no_ack=st.booleans())
    def get(self, client: int, number: int, name: str, no_ack: bool) -> None:
        ledger = self.ledger(client, number)
        line = self.lines.get(name)
        ready = self.ready(line) if line is not None else set()
        if line is not None:
            ledger.getting = Subscription(line, no_ack)
        for answer in self.tell(client, number, BasicGet(name, no_ack)):
            if isinstance(answer, BasicGetEmpty):
                assert line is not None
                assert line.leaks or not ready
        ledger.getting = None

    @rule(
        client=clients,
        number=channels,
        kind=st.sampled_from([BasicAck, BasicNack, BasicReject]),
        which=st.sampled_from([0] * 6 + [1] * 4 + [2, 2, 3, 4, -1]),
        flags=st.tuples(st.booleans(), st.booleans()),
        cut=cuts,
    )
    def settle(
        self,
        client: int,
        number: int,
        kind: type[BasicAck | BasicNack | BasicReject],
        which: int,
        flags: tuple[bool, bool],
        cut: int,
    ) -> None:
        """Tags that are out, settled already, or never given: it goes by the ledger which."""
        ledger = self.ledger(client, number)
        tags = list(ledger.unacked)
        if not tags and which < 4:
            return
        tag = tags[which % len(tags)] if which >= 0 and tags else which + 1
        settlement = kind(tag, *flags[: 1 if kind is not BasicNack else 2])
        multiple = kind is not BasicReject and flags[0]
        accepted = ledger.accepts(tag, multiple)
        if accepted:
            ledger.settle(settlement)
        self.tell(client, number, settlement, cut=cut)
        assert self.closed(client) is not accepted, settlement

    @rule(client=clients, number=channels, wrong=seldom)
    def recover(self, client: int, number: int, wrong: bool) -> None:
        """Without requeue it is not implemented, and the connection ends."""
        self.ledger(client, number).unacked.clear()
        self.tell(client, number, BasicRecover(requeue=not wrong))
        assert self.closed(client) is wrong

    # Modes of a channel

    @rule(client=clients, number=channels, select=st.sampled_from([ConfirmSelect, TxSelect]))
    def select(self, client: int, number: int, select: type[ConfirmSelect | TxSelect]) -> None:
        """A channel has confirms or transactions, not both."""
        ledger = self.ledger(client, number)
        is_tx = select is TxSelect
        refused = ledger.confirming if is_tx else ledger.transacting
        if refused and self.numbers % 4:
            return
        self.tell(client, number, select())
        assert self.closed(client) is refused
        ledger.transacting |= is_tx
        ledger.confirming |= not is_tx

    @rule(
        client=clients,
        number=channels,
        end=st.sampled_from([TxCommit, TxCommit, TxRollback]),
        wrong=seldom,
    )
    def end_transaction(
        self, client: int, number: int, end: type[TxCommit | TxRollback], wrong: bool
    ) -> None:
        ledger = self.ledger(client, number)
        if ledger.transacting is wrong:
            return
        if ledger.transacting and end is TxRollback:
            ledger.roll_back()
        elif ledger.transacting:
            ledger.commit()
        self.tell(client, number, end())
        assert self.closed(client) is wrong

    @rule(
        client=clients,
        number=channels,
        name=queues,
        end=st.sampled_from([TxCommit, TxRollback]),
        kind=st.sampled_from([BasicAck, BasicReject]),
        flag=st.booleans(),
    )
    def transact(
        self,
        client: int,
        number: int,
        name: str,
        end: type[TxCommit | TxRollback],
        kind: type[BasicAck | BasicReject],
        flag: bool,
    ) -> None:
        """Publish, settle and commit in a row, which seldom comes by chance."""
        if self.ledger(client, number).confirming or name not in self.lines:
            return
        self.select(client, number, TxSelect)
        self.publish(client, number, name, "", 10, True, 2, 9, 1 << 20)
        self.get(client, number, name, no_ack=False)
        self.settle(client, number, kind, 0, (flag, flag), 1 << 20)
        if self.ledger(client, number).transacting:
            self.end_transaction(client, number, end, wrong=False)

    # Ends

    @rule(client=clients, number=channels, wrong=seldom)
    def flow(self, client: int, number: int, wrong: bool) -> None:
        """Stopping the flow is not implemented: the connection ends."""
        self.open(client, number)
        self.tell(client, number, ChannelFlow(active=not wrong))
        assert self.closed(client) is wrong

    @rule(client=clients, number=channels, reopen=st.booleans(), really=seldom)
    def close_channel(self, client: int, number: int, reopen: bool, really: bool) -> None:
        """In the middle of a message it is no other method."""
        if not really or number not in self.clients[client].channels:
            return
        if reopen:
            self.finish(client, number)
        self.clients[client].channels.pop(number, None)
        if not self.clients[client].ended:
            self.tell(client, number, ChannelClose(200, "bye"))
        if reopen:
            self.open(client, number)

    @rule(client=clients, politely=st.booleans(), really=seldom)
    def leave(self, client: int, politely: bool, really: bool) -> None:
        if really:
            self.end(client, politely)

    def end(self, client: int, politely: bool) -> None:
        if politely and not self.clients[client].ended:
            self.tell(client, 0, ConnectionClose(200, "bye"))
        self.clients[client].disconnect()
        self.collect()

    @rule(
        client=clients,
        pieces=st.lists(st.binary(max_size=80), min_size=1, max_size=4),
        really=seldom,
    )
    def garbage(self, client: int, pieces: list[bytes], really: bool) -> None:
        """Who sends that is not understood any more, and has to go."""
        if not really:
            return
        for piece in pieces:
            self.clients[client].send(piece, 1 << 20)
        self.clients[client].disconnect()
        self.collect()

    @rule(seconds=st.sampled_from([0.5, 0.5, 0.5, 6.0, 6.0, 25.0, 2_000.0]))
    def pass_time(self, seconds: float) -> None:
        """Heartbeats, the TTL of a queue, and the time that a delivery may be out."""
        self.broker.pass_time(seconds)
        self.collect()

    def teardown(self) -> None:
        if not hasattr(self, "broker"):
            return
        for client in range(len(self.clients)):
            self.end(client, politely=bool(client))
        broker = self.broker.broker
        assert not broker.connections
        assert set(held_for_clients(broker).values()) == {0}, held_for_clients(broker)
        for line in list(self.lines.values()):
            line.check_rest(self._drain(line.name))
        assert set(held_for_messages(broker).values()) <= {0}, held_for_messages(broker)

    def _drain(self, name: str) -> list[int]:
        client = self.broker.client()
        found: list[int] = []
        while True:
            client.send(1, BasicGet(name, no_ack=True))
            self.broker.sync()
            (answer,) = client.received()
            if isinstance(answer.method, BasicGetEmpty):
                client.disconnect()
                return found
            found.append(number_in(answer.body))


def _frames_of(data: bytes) -> list[bytes]:
    """Cut after each frame."""
    frames = []
    while data:
        end = 8 + int.from_bytes(data[3:7], "big")
        frames.append(data[:end])
        data = data[end:]
    return frames
