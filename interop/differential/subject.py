"""One broker under comparison: operations go in, what a client sees of their effect comes out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from interop.brokers import Broker
from interop.differential.administration import (
    Administration,
    Administrative,
    Permit,
)
from interop.differential.normal import Names, message, told
from interop.differential.operation import (
    EXCHANGES,
    PLACES,
    QUEUES,
    TOKEN,
    USER,
    USERS_CONNECTION,
    Call,
    CloseChannel,
    CloseConnection,
    Operation,
    Publish,
    Rest,
    Settle,
)
from interop.differential.peer import Event, Peer
from mqkit import wire
from mqkit.wire import methods

ADMINISTRATOR = (-1, 0)
"""The place of what is answered over HTTP."""

OBSERVER = (0, 9)
"""A channel of its own on the first connection, for exclusive queues are seen from there only."""

Reply = tuple[Any, ...]
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Held:
    """A delivery that waits for its ack: ``key`` says which it is, on any broker."""

    tag: int
    key: tuple[str, bytes]


@dataclass(slots=True)
class Seen:
    """The visible effects of one operation so far. Deliveries are in order per consumer, as
    promised."""

    replies: dict[Place, list[Reply]] = field(default_factory=dict)
    confirms: dict[Place, list[Reply]] = field(default_factory=dict)
    deliveries: dict[tuple[Place, str], list[Any]] = field(default_factory=dict)
    cancelled: list[tuple[Place, str]] = field(default_factory=list)
    queues: dict[str, Reply] = field(default_factory=dict)


@dataclass(slots=True)
class _Channel:
    """The books that a client keeps of a channel."""

    held: list[Held] = field(default_factory=list)
    unacked_consumers: set[str] = field(default_factory=set)
    expects_acks: bool = False
    confirms: bool = False
    unconfirmed: set[int] = field(default_factory=set)
    numbers: dict[bytes, int] = field(default_factory=dict)
    published: int = 0
    settled: list[Held] = field(default_factory=list)
    transactional: bool = False


class Subject:
    """A broker. Hand in an operation with :meth:`begin`, wait with :meth:`finish`, then look at
    :attr:`seen` as often as needed: :meth:`refresh` reads what has come since."""

    def __init__(self, name: str, broker: Broker) -> None:
        self.name = name
        self.seen = Seen()
        self.names = Names()
        self._broker = broker
        self._peers: dict[int, Peer] = {}
        self._channels: dict[Place, _Channel] = {}
        self._queues: list[str] = []
        self._lasting: list[methods.ExchangeUnbind] = []
        self._tokens: dict[bytes, str] = {}
        self._administration = Administration(
            broker.management_url, broker.endpoint.credentials, USER
        )

    # -- operations

    def begin(self, number: int, operation: Operation) -> None:
        """Send it, and ask for a sign of life. Opens connection and channel where needed."""
        self.seen = Seen()
        if isinstance(operation, Administrative):
            self._administer(operation)
            return
        if isinstance(operation, Rest):
            return
        place = PLACES[operation.place]
        peer, channel = self._open(place)
        match operation:
            case CloseConnection():
                self._close(place[0])
                return
            case CloseChannel():
                peer.close_channel(place[1])
                self._channels.pop(place, None)
            case Publish():
                self._publish(place, number, operation)
            case Settle():
                raise AssertionError("a settlement is resolved to a method first")
            case _:
                self._remember(channel, operation.method)
                peer.send(place[1], operation.method)
        if isinstance(operation, Call) and isinstance(operation.method, methods.TxCommit):
            # RabbitMQ closes the connection of who asks anything before the answer.
            peer.wait_for(place[1], methods.TxCommitOk)
        peer.ask()

    def finish(self) -> None:
        """Wait until every channel has answered. Raises :exc:`~peer.NoAnswer`."""
        for peer in self._peers.values():
            peer.wait_until_answered()

    def refresh(self, wait_s: float = 0.0) -> Seen:
        """The effects that can be seen now: arrived answers, and the counts of messages and
        consumers."""
        for peer in self._peers.values():
            peer.pump(wait_s)
        self._absorb()
        self._drop_what_is_late()
        self.seen.queues = self._observe()
        return self.seen

    @property
    def confirmed(self) -> bool:
        """True if no published message waits for its confirm."""
        return not any(channel.unconfirmed for channel in self._channels.values())

    def held(self, place: int) -> list[Held]:
        """The place's deliveries that are not settled, oldest first."""
        channel = self._channels.get(PLACES[place])
        return list(channel.held) if channel else []

    def forget_missing(self) -> None:
        """Do not observe any more what was not there at the last look."""
        self._queues = [
            queue for queue in self._queues if self.seen.queues[self._named(queue)][:2] != GONE
        ]

    def contents(self, queue: str) -> list[Any]:
        """Takes all messages out of a queue, and tells them in order (or the refusal)."""
        taken: list[Any] = []
        peer = self._observer()
        while peer.alive and OBSERVER[1] in peer.channels:
            peer.send(OBSERVER[1], methods.BasicGet(queue=queue, no_ack=True))
            answers = peer.take(OBSERVER[1], 1)
            taken += [self._told(answer) for answer in answers]
            if not any(isinstance(e.command.method, methods.BasicGetOk) for e in answers):
                break
        return taken

    @property
    def queues(self) -> list[str]:
        """The queues that are there as far as is known."""
        return list(self._queues)

    def reset(self) -> None:
        """Close everything and delete all names that sequences use."""
        for connection in list(self._peers):
            self._close(connection)
        self._administration.reset()
        peer = Peer(self._broker.endpoint)
        peer.open_channel(1)
        for queue in QUEUES:
            peer.send(1, methods.QueueDelete(queue=queue))
        for exchange in EXCHANGES:
            peer.send(1, methods.ExchangeDelete(exchange=exchange))
        for unbind in self._lasting:
            peer.send(1, unbind)
        peer.ask()
        peer.wait_until_answered()
        left = [e.command.method for e in peer.events if not _is_deleted(e)]
        peer.close()
        if left:
            raise RuntimeError(f"{self.name} could not be cleaned: {left}")
        self._queues.clear()
        self._lasting.clear()
        self._tokens.clear()
        self._channels.clear()
        self.names = Names()

    # -- out

    def _open(self, place: Place) -> tuple[Peer, _Channel]:
        connection, number = place
        peer = self._peers.get(connection)
        if peer is None or not peer.alive:
            self._close(connection)
            peer = self._peers[connection] = self._connected(connection)
        if number not in peer.channels:
            peer.open_channel(number)
            self._channels[place] = _Channel()
        return peer, self._channels[place]

    def _connected(self, connection: int) -> Peer:
        endpoint = self._broker.endpoint
        if connection != USERS_CONNECTION:
            return Peer(endpoint)
        self._administration.admit()
        return Peer(replace(endpoint, credentials=USER))

    def _administer(self, operation: Administrative) -> None:
        if isinstance(operation, Permit):
            self._close(USERS_CONNECTION)
        self._reply(ADMINISTRATOR, ("status", self._administration.carry_out(operation)))
        for peer in self._peers.values():
            peer.ask()

    def _close(self, connection: int) -> None:
        peer = self._peers.pop(connection, None)
        if peer is not None:
            peer.close()
        for place in [place for place in self._channels if place[0] == connection]:
            del self._channels[place]

    def _publish(self, place: Place, number: int, operation: Publish) -> None:
        channel = self._channels[place]
        method = operation.method
        if method.routing_key == TOKEN:
            newest = max(self._tokens, default=None)
            method = replace(method, routing_key=self._tokens[newest] if newest else TOKEN)
        for copy in range(operation.count):
            body = f"{number}.{copy} ".encode().ljust(operation.size, b".")
            self._peers[place[0]].publish(place[1], method, operation.properties, body)
            if channel.confirms:
                channel.published += 1
                channel.unconfirmed.add(channel.published)
                channel.numbers[body] = channel.published

    def _remember(self, channel: _Channel, method: methods.Method) -> None:
        match method:
            case methods.BasicConsume():
                channel.expects_acks = not method.no_ack
                if method.consumer_tag and not method.no_ack:
                    channel.unacked_consumers.add(method.consumer_tag)
            case methods.BasicGet():
                channel.expects_acks = not method.no_ack
            case methods.BasicAck() | methods.BasicNack() | methods.BasicReject():
                multiple = not isinstance(method, methods.BasicReject) and method.multiple
                self._settled(channel, method.delivery_tag, multiple)
            case methods.BasicRecover():
                channel.held.clear()
            case methods.TxRollback():
                channel.held = sorted(channel.settled + channel.held, key=lambda held: held.tag)
                channel.settled.clear()
            case methods.TxCommit():
                channel.settled.clear()
            case methods.ExchangeBind() if _is_predeclared(method.source, method.destination):
                self._lasting.append(
                    methods.ExchangeUnbind(
                        method.destination,
                        method.source,
                        method.routing_key,
                        False,
                        method.arguments,
                    )
                )
            case methods.ConfirmSelect() if method.nowait:
                channel.confirms = True
            case methods.QueueDeclare() if method.nowait and not method.passive:
                self._watch(method.queue)

    @staticmethod
    def _settled(channel: _Channel, tag: int, multiple: bool) -> None:
        gone = [
            held
            for held in channel.held
            if held.tag == tag or (multiple and (tag == 0 or held.tag < tag))
        ]
        channel.held = [held for held in channel.held if held not in gone]
        if channel.transactional:
            channel.settled += gone

    def _watch(self, queue: str) -> None:
        if queue and queue not in self._queues:
            self._queues.append(queue)

    # -- in

    def _absorb(self) -> None:
        for connection, peer in self._peers.items():
            events, peer.events = peer.events, []
            for event in events:
                self._take((connection, event.channel), event)
            if not peer.alive:
                for place in [place for place in self._channels if place[0] == connection]:
                    del self._channels[place]

    def _drop_what_is_late(self) -> None:
        """Deliveries to a channel or connection that the broker closes: which still come is a race
        of RabbitMQ's, and nobody can settle them."""
        closed = {
            place
            for place, replies in self.seen.replies.items()
            if replies[-1][0] in {"channel.close", "connection.close"}
        }
        self.seen.deliveries = {
            (place, tag): found
            for (place, tag), found in self.seen.deliveries.items()
            if place not in closed and (place[0], 0) not in closed
        }

    def _take(self, place: Place, event: Event) -> None:
        if place == OBSERVER:
            return
        channel = self._channels.get(place) or _Channel()
        if isinstance(event.command.method, methods.BasicGetOk):
            self._keep_token(event.command)
        match event.command.method:
            case methods.BasicDeliver() as method:
                self._delivered(place, channel, method, event)
                return
            case methods.BasicCancel() as method:
                self.seen.cancelled.append((place, self._named(method.consumer_tag)))
                self.seen.cancelled.sort()
                return
            case methods.BasicAck() | methods.BasicNack() as method:
                self._confirmed(channel, self.seen.confirms.setdefault(place, []), method)
                return
            case methods.BasicReturn() if channel.confirms and (
                channel.numbers[event.command.body] not in channel.unconfirmed
            ):
                self._reply(place, ("returned after its confirm",))
            case methods.BasicGetOk() as method if channel.expects_acks:
                channel.held.append(Held(method.delivery_tag, ("", event.command.body)))
            case methods.BasicConsumeOk() as method if channel.expects_acks:
                channel.unacked_consumers.add(method.consumer_tag)
            case methods.QueueDeclareOk() as method:
                self._watch(method.queue)
            case methods.ConfirmSelectOk():
                channel.confirms = True
            case methods.TxSelectOk():
                channel.transactional = True
            case methods.ChannelClose():
                self._channels.pop(place, None)
        self._reply(place, self._told(event))

    def _keep_token(self, command: wire.Command) -> None:
        address = command.properties().reply_to
        if address is not None and address.startswith(f"{REPLY_TO}."):
            self._tokens[command.body] = address

    def _reply(self, place: Place, reply: Reply) -> None:
        self.seen.replies.setdefault(place, []).append(reply)

    def _delivered(
        self, place: Place, channel: _Channel, method: methods.BasicDeliver, event: Event
    ) -> None:
        tag = self._named(method.consumer_tag)
        self._keep_token(event.command)
        if method.consumer_tag in channel.unacked_consumers:
            channel.held.append(Held(method.delivery_tag, (tag, event.command.body)))
        found = message(event.command, self.names)
        # Which tag it has depends on what other queues delivered meanwhile.
        found["deliver"] = (method.redelivered, method.exchange, self._named(method.routing_key))
        self.seen.deliveries.setdefault((place, tag), []).append(found)

    @staticmethod
    def _confirmed(
        channel: _Channel, confirms: list[Reply], method: methods.BasicAck | methods.BasicNack
    ) -> None:
        up_to = method.delivery_tag
        numbers = {n for n in channel.unconfirmed if n == up_to or (method.multiple and n < up_to)}
        channel.unconfirmed -= numbers
        # A number that was confirmed before, or never given, must show.
        confirms += [(number, method.NAME) for number in numbers | {up_to}]
        confirms.sort()

    def _told(self, event: Event) -> Reply:
        reply = told(event.command.method, self.names)
        if event.command.header:
            return (*reply, message(event.command, self.names))
        return reply

    def _named(self, text: str) -> str:
        return self.names.evened(text)

    # -- observing

    def _observer(self) -> Peer:
        peer = self._peers.get(OBSERVER[0])
        if peer is None or not peer.alive:
            self._close(OBSERVER[0])
            peer = self._peers[OBSERVER[0]] = Peer(self._broker.endpoint)
        peer.open_channel(OBSERVER[1])
        return peer

    def _observe(self) -> dict[str, Reply]:
        """Messages and consumers of every queue; the refusal where it can't be asked."""
        found: dict[str, Reply] = {}
        left = list(self._queues)
        while left:
            peer = self._observer()
            for queue in left:
                peer.send(OBSERVER[1], methods.QueueDeclare(queue=queue, passive=True))
            answers = peer.take(OBSERVER[1], len(left)) or [_CUT_OFF]
            # A refusal has closed the channel: what was asked after it was not heard.
            for queue, answer in zip(left, answers, strict=False):
                found[self._named(queue)] = self._told(answer)
            left = left[len(answers) :]
        return found


_CUT_OFF = Event(OBSERVER[1], wire.Command(methods.ConnectionClose(0, "socket closed")))
GONE = ("channel.close", 404)
REPLY_TO = "amq.rabbitmq.reply-to"


def _is_predeclared(*exchanges: str) -> bool:
    """Bindings between such exchanges are not gone with what a sequence has declared."""
    return all(exchange.startswith("amq.") for exchange in exchanges)


def _is_deleted(event: Event) -> bool:
    ok = methods.QueueDeleteOk | methods.ExchangeDeleteOk | methods.ExchangeUnbindOk
    return isinstance(event.command.method, ok)
