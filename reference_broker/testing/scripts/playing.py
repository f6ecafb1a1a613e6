"""The play of a script on a broker: every input is completed before the next one, in as many turns
as it takes.

Frames of a channel are in order by kind: answers, deliveries and cancels, returns. Between these
kinds there is no order (in RabbitMQ they come from different processes). Of the confirms the fate
of each publish counts: ``multiple`` groups them as turns go. The count of ready messages beside a
message that was got is left out: it may have ones that are overdue, and were not the head so far.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicDeliver,
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    BasicNack,
    BasicReturn,
    ChannelClose,
    ChannelCloseOk,
    ChannelOpenOk,
    Method,
)
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.core.queue.queue import Queue
from reference_broker.core.work.budget import UNLIMITED_UNITS
from reference_broker.testing.lone_broker import LoneBroker, LoneClient, Received
from reference_broker.testing.recording_journal import RecordingJournal
from reference_broker.testing.scripts.script import (
    Connect,
    Disconnect,
    Input,
    Send,
    SetPolicy,
    SyncDisk,
    Wait,
)

Place = tuple[int, int, int]
"""A client, its channel's number, and how often that number was opened."""

Kind = str
"""``"answers"``, ``"deliveries"`` or ``"returns"``."""

_COUNTS = (
    "published", "delivered", "delivered_no_ack", "got", "got_no_ack", "got_empty", "acked",
    "requeued", "rejected", "stale_settlements", "expired", "dropped", "refused", "purged", "lost",
    "redelivered_count", "ready", "unacked",
)  # fmt: skip


class Play:
    """A broker whose turns have ``units``, and what its clients are ``told``, by channel: methods
    with their contents. ``fates`` has the confirms: for each publish ``"ack"`` or ``"nack"``."""

    def __init__(self, units: int = UNLIMITED_UNITS) -> None:
        self.journal = RecordingJournal()
        self.lone = LoneBroker(self.journal, units=units)
        self.clients: dict[int, LoneClient] = {}
        self.told: dict[Place, dict[Kind, list[Received]]] = {}
        self.fates: dict[Place, dict[int, str]] = {}
        self.closed: dict[Place, None] = {}
        """Channels that have ended, or whose client has: what it had published just before may not
        have been confirmed any more."""
        self._opened: Counter[tuple[int, int]] = Counter()

    def take(self, given: Input) -> None:
        """Take an input, complete it, and hear what everybody is told."""
        match given:
            case Connect(client, channels):
                self.clients[client] = self.lone.client(channels=channels)
                for number in channels:
                    self._open(client, number)
            case Send(client, data):
                if client in self.clients:
                    self.clients[client].send_bytes(data)
            case Disconnect(client):
                if client in self.clients:
                    self.clients[client].disconnect()
            case SetPolicy():
                self._set(given)
            case Wait(milliseconds):
                self.lone.pass_time(milliseconds / 1000)
            case SyncDisk():
                self._sync()
        self._listen()
        if isinstance(given, Disconnect):
            self._end(given.client)
            self.clients.pop(given.client, None)

    def _sync(self) -> None:
        """Sync until nobody waits: a request that goes on then may log something, too."""
        self.lone.sync()
        while self.journal.synced < self.journal.tail:
            self.lone.sync()

    def place(self, client: int, number: int) -> Place:
        """The place of a channel, as it was opened last."""
        return client, number, self._opened[client, number]

    def _set(self, given: SetPolicy) -> None:
        broker = self.lone.broker
        broker.begin(self.lone.now_s, self.lone.wall_ms)
        policies = broker.vhosts["/"].policies
        if given.value is None:
            policies.remove(PolicyKind.USER, given.name)
        else:
            wish = PolicyWish.parse(PolicyKind.USER, given.name, given.value)
            policies.set(PolicyKind.USER, given.name, wish)
        broker.finish()
        self.lone.complete()

    def _open(self, client: int, number: int) -> None:
        self._opened[client, number] += 1
        place = self.place(client, number)
        self.told[place] = {"answers": [], "deliveries": [], "returns": []}
        self.fates[place] = {}

    def _end(self, client: int) -> None:
        self.closed |= dict.fromkeys(place for place in self.told if place[0] == client)

    def _listen(self) -> None:
        for client, lone in self.clients.items():
            for received in lone.received():
                self._hear(client, received)

    def _hear(self, client: int, received: Received) -> None:
        method = received.method
        if isinstance(method, ChannelOpenOk):
            self._open(client, received.channel)
        place = self.place(client, received.channel)
        if isinstance(method, ChannelClose | ChannelCloseOk):
            self.closed[place] = None
        if received.channel == 0:
            self._end(client)  # there is no answer but to a close
            self.told.setdefault(place, {"answers": []})["answers"].append(received)
            return
        if not isinstance(method, BasicAck | BasicNack):
            if isinstance(method, BasicGetOk):
                received = received._replace(method=replace(method, message_count=0))
            self.told[place][_kind_of(method)].append(received)
            return
        fates, fate = self.fates[place], "ack" if isinstance(method, BasicAck) else "nack"
        first = 1 if method.multiple else method.delivery_tag
        for tag in range(first, method.delivery_tag + 1):
            fates.setdefault(tag, fate)

    def confirms(self) -> dict[Place, dict[int, str]]:
        """The fates of the publishes of each channel; of one that has ended only the nacks, which
        come at once."""
        return {
            place: {
                tag: fate
                for tag, fate in sorted(fates.items())
                if fate == "nack" or place not in self.closed
            }
            for place, fates in self.fates.items()
        }

    # The end

    def state(self) -> dict[str, Any]:
        """Counts and definitions as they are now."""
        vhost = self.lone.broker.vhosts["/"]
        definitions: dict[str, bytes] = {}
        for verb, *rest in self.journal.records:
            if verb == "define":
                key, value = rest
                definitions.pop(key, None)
                if value is not None:
                    definitions[key] = value
        logged = Counter(queue_id for queue_id, _ in self.journal.live())
        return {
            "queues": {name: _counts(queue) for name, queue in vhost.queues.items()},
            "logged": {name: logged[queue.id] for name, queue in vhost.queues.items()},
            "exchanges": sorted(vhost.exchanges),
            "traffic": {
                name: getattr(vhost.traffic, name)
                for name in type(vhost.traffic).__slots__
                if name not in ("sent_bytes", "past")  # a confirm more, before a channel's end
            },
            "deaths": dict(vhost.dead_letters.deaths),
            "definitions": dict(sorted(definitions.items())),
        }

    def end(self) -> None:
        """End every client, and sync: unacked messages are back at their places."""
        for client in list(self.clients):
            self.take(Disconnect(client))
        self.take(SyncDisk())

    def contents(self) -> dict[str, list[tuple[bool, bytes, bytes]]]:
        """Take every message out of every queue, with its headers, in order. Raises
        :exc:`AssertionError` for a queue that does not answer."""
        reader = self.lone.client()
        taken: dict[str, list[Received]] = {}
        for name in list(self.lone.broker.vhosts["/"].queues):
            got = taken.setdefault(name, [])
            while not got or not isinstance(got[-1].method, BasicGetEmpty):
                reader.send(1, BasicGet(name, no_ack=True))
                answers = reader.received()
                if not answers:  # the request waits for the disk
                    self.lone.sync()
                    answers = reader.received()
                assert answers, f"nobody is told what {name!r} has"
                got += answers
        return {
            name: [
                (message.method.redelivered, message.header, message.body)
                for message in got
                if isinstance(message.method, BasicGetOk)
            ]
            for name, got in taken.items()
        }


def _kind_of(method: Method) -> Kind:
    if isinstance(method, BasicDeliver | BasicCancel):
        return "deliveries"
    return "returns" if isinstance(method, BasicReturn) else "answers"


def _counts(queue: Queue) -> dict[str, int]:
    return {name: getattr(queue, name) for name in _COUNTS}
