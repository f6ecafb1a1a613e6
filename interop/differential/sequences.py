"""Hypothesis strategies for sequences that hit something: queues that exist, keys that are bound.

What the reference broker does not have yet is generated only where its name is in ``features``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from decimal import Decimal
from random import Random
from typing import Any

from hypothesis import strategies as st

from interop.differential.administration import ClearPolicy, Permit, SetPolicy
from interop.differential.features import ALL, Feature
from interop.differential.operation import (
    EXCHANGES,
    QUEUES,
    TOKEN,
    Call,
    CloseChannel,
    CloseConnection,
    Operation,
    Outcome,
    Publish,
    Rest,
    Sequence,
    Settle,
)
from mqkit.wire import Properties, Typed, methods

REPLY_TO = "amq.rabbitmq.reply-to"

Draw = Callable[[st.SearchStrategy[Any]], Any]

TTL_MS = 20
TTL_PAUSE_S = 0.06
"""Three times the time to live: what was to expire has."""

UNUSED_MS = 800
UNUSED_PAUSE_S = 1.2
"""A queue expires that was unused, and asking for it is a use: far more than what lies between two
operations, so that only a rest lets it expire."""

POLICY_PRIORITIES = {"p0": 0, "p1": 5}
"""Never two of one priority: which one holds then is undefined."""
POLICY_PATTERNS = ("", "^q0$", "^q", "0$", "^x", "^amq", ".*")
PERMISSIONS = ("", ".*", ".*", "^q0$", "^q", "^(x|amq)", "^amq\\.")

OPERATIONS_MAX = 24
KEYS = ("", "a", "a.b", "a.b.c", *QUEUES)
BINDING_KEYS = (*KEYS, "#", "*", "a.*", "#.b", "*.b.#")
PREDECLARED = ("amq.direct", "amq.fanout", "amq.topic", "amq.headers", "amq.match")
SOURCES = (*EXCHANGES, *PREDECLARED)
KINDS = ("direct", "fanout", "topic", "headers")

BAD_QUEUE_ARGUMENTS: tuple[dict[str, Any], ...] = (
    {"x-max-length": -1},
    {"x-max-length": "1"},
    {"x-message-ttl": -1},
    {"x-message-ttl": 1.5},
    {"x-expires": 0},
    {"x-expires": 315_360_000_001},
    {"x-max-priority": 256},
    {"x-max-priority": -1},
    {"x-overflow": "nope"},
    {"x-overflow": 1},
    {"x-dead-letter-routing-key": "a"},
    {"x-dead-letter-exchange": 1},
    {"x-dead-letter-exchange": "x0", "x-dead-letter-routing-key": 1},
    {"x-single-active-consumer": "yes"},
    {"x-queue-mode": "nope"},
    {"x-queue-version": 3},
    {"x-queue-type": "nope"},
)
GOOD_QUEUE_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "x-max-length": (0, 1, 2, 2, 3, 3, Typed("l", 2), Typed("b", 1)),
    "x-max-length-bytes": (0, 12, 30),
    "x-overflow": ("drop-head", "reject-publish", "reject-publish-dlx"),
    "x-expires": (600_000,),
    "x-queue-mode": ("lazy", "default"),
    "x-queue-version": (1, 2),
    "x-unknown": ("a", 1, None),
}
HEADER_VALUES: tuple[Any, ...] = (
    *("", "a", "ü", 0, 1, -5, 1 << 40, True, False, None, 1.5, b"\x00\xff", [], [1, "a"], {}),
    *({"k": "v"}, Typed("s", 5), Typed("b", -1), Typed("B", 200), Typed("u", 7), Typed("f", 0.5)),
    *(Typed("i", 9), Typed("l", 5), Decimal("1.25"), Typed("T", 1_700_000_000)),
)


@st.composite
def sequences(draw: Draw, features: Collection[Feature] = ALL) -> Sequence:
    """A sequence: some queues, exchanges and bindings first, then whatever comes."""
    # Hypothesis' own choices prefer repetition and extremes, good for pure functions; here
    # most sequences would only be refusals. Nothing is lost: they are shortened as operations.
    random = draw(st.randoms(use_true_random=True))
    writer = _Writer(random, features)
    queues = random.sample(QUEUES, random.randint(1, 3))
    operations: list[Operation] = [writer.declare_queue(queue) for queue in queues]
    for exchange in random.sample(EXCHANGES, random.randint(0, 2)):
        operations += [writer.declare_exchange(exchange), writer.bind(exchange)]
    if random.random() < 0.5:
        operations.append(Call(writer.place(), methods.ConfirmSelect()))
    operations += [writer.anything() for _ in range(random.randint(1, OPERATIONS_MAX))]
    return Sequence(tuple(operations), TTL_PAUSE_S if writer.expires else 0.0)


class _Writer:
    """Writes one sequence. It knows what it has declared only roughly: errors are wanted too."""

    def __init__(self, random: Random, features: Collection[Feature]) -> None:
        self._random = random
        self._features = features
        self.expires = False
        # A refusal ends what a channel was doing, so half of the sequences have few of them.
        self._calm = self._one_in(2)
        self._queues: dict[str, methods.QueueDeclare] = {}
        self._exchanges: dict[str, methods.ExchangeDeclare] = {}
        self._bound: list[tuple[str, str]] = []
        self._readers: list[int] = []
        self._got = False
        # RabbitMQ 3.10.8 crashes where a single active consumer with unacked messages is cancelled.
        self._single_active = self._one_in(6)
        # RabbitMQ counts an expired message that becomes the head by its priority until the next
        # time that it looks at the head.
        self._priorities = self._one_in(4)
        # RabbitMQ's dead letters go on by their BCC keys too, so there is one or the other.
        self._bcc = self._one_in(4)
        choices = [
            *[self.publish] * 14,
            *[self.settle] * 9,
            *[self.consume] * 5,
            *[self.get] * 5,
            *[lambda: self.bind(self._source())] * 2,
            *[lambda: self.declare_queue(self._of(QUEUES))] * 2,
            *[self.qos, self.cancel, self.recover, self.delete_queue, self.purge, self.unbind],
            *[self.close, self.exchange_binding, self.passive, self.confirm_select],
            *self._odd(self.odd, self.delete_queue, self.delete_exchange),
            lambda: self.declare_exchange(self._of(EXCHANGES)),
        ]
        if Feature.TX in features:
            choices += [self.transaction] * 3
        if Feature.POLICIES in features and self._one_in(4):
            choices += [self.set_policy, self.set_policy, self.clear_policy]
        if Feature.REPLY_TO in features and self._one_in(6):
            choices += [self.await_replies, *[self.ask] * 3, *[self.reply] * 3]
        self._choices = choices
        self._permits = Feature.PERMISSIONS in features and self._one_in(6)
        if self._permits:
            choices += [self.permit]
        self.may_go = Feature.EXPIRES in features and self._one_in(20)
        if self.may_go:
            choices += [lambda: Rest(UNUSED_PAUSE_S)] * 2

    def anything(self) -> Operation:
        operation: Operation = self._of(self._choices)()
        return operation

    def place(self) -> int:
        if self._permits and self._one_in(2):
            return 4
        return int(self._of((1, 1, 1, 1, 1, 1, 2, 2, 3)))

    # -- queues and exchanges

    def declare_queue(self, queue: str) -> Call:
        if queue in self._queues and (self._calm or self._one_in(2)):
            return Call(self.place(), self._queues[queue])
        arguments: dict[str, Any] = {}
        if self._rarely(10):
            arguments = dict(self._of(BAD_QUEUE_ARGUMENTS))
        elif not self._one_in(3):
            arguments = self._queue_arguments()
        method = methods.QueueDeclare(
            queue="" if self._rarely(12) else queue,
            durable=self._one_in(2),
            exclusive=self._one_in(16),
            auto_delete=self._one_in(12),
            nowait=self._one_in(12),
            arguments=arguments,
        )
        self._queues.setdefault(queue, method)
        return Call(self.place(), method)

    def _queue_arguments(self) -> dict[str, Any]:
        names = self._some(sorted(GOOD_QUEUE_ARGUMENTS))
        arguments = {name: self._of(GOOD_QUEUE_ARGUMENTS[name]) for name in names}
        if not self._bcc and self._one_in(2):
            exchanges = ("", "", "", "x0", "amq.fanout", "amq.topic", "missing")
            arguments["x-dead-letter-exchange"] = self._of(exchanges)
            if not self._one_in(4):
                arguments["x-dead-letter-routing-key"] = self._of((*QUEUES, *QUEUES, *KEYS))
        if self._priorities and not self._one_in(3):
            arguments["x-max-priority"] = self._of((1, 3))
        if not self._priorities and self._one_in(7):
            arguments["x-message-ttl"] = self._of((0, TTL_MS))
            self.expires = self.expires or arguments["x-message-ttl"] > 0
        if self._single_active:
            arguments["x-single-active-consumer"] = True
        if self.may_go and self._one_in(2):
            arguments["x-expires"] = UNUSED_MS
        if Feature.QUEUE_TYPE in self._features and self._one_in(6):
            arguments["x-queue-type"] = self._of(("classic", "quorum"))
        if arguments.get("x-queue-type") == "quorum":
            # RabbitMQ 3.10.8 refuses only after a message too many, and does not know the other.
            arguments.pop("x-overflow", None)
        return arguments

    def delete_queue(self) -> Call:
        method = methods.QueueDelete(
            self._queue(), self._one_in(3), self._one_in(3), self._one_in(9)
        )
        return Call(self.place(), method)

    def purge(self) -> Call:
        return Call(self.place(), methods.QueuePurge(self._queue(), self._one_in(9)))

    def declare_exchange(self, exchange: str) -> Call:
        if exchange in self._exchanges and (self._calm or self._one_in(2)):
            return Call(self.place(), self._exchanges[exchange])
        odd = self._rarely(10)
        method = methods.ExchangeDeclare(
            exchange=self._of(("amq.mine", "amq.direct", "", exchange)) if odd else exchange,
            type=self._of(KINDS),
            durable=self._one_in(3),
            auto_delete=self._one_in(8),
            internal=self._one_in(25),
            nowait=self._one_in(12),
            arguments=self._exchange_arguments(),
        )
        self._exchanges.setdefault(exchange, method)
        return Call(self.place(), method)

    def _exchange_arguments(self) -> dict[str, Any]:
        if self._one_in(5):
            return {
                "alternate-exchange": self._of(
                    (*EXCHANGES, "amq.fanout", *self._odd("missing", "", 5))
                )
            }
        return {"x-unknown": 1} if self._one_in(10) else {}

    def delete_exchange(self) -> Call:
        name = self._of(("amq.direct", "", "missing") if self._rarely(5) else EXCHANGES)
        method = methods.ExchangeDelete(name, self._one_in(2), self._one_in(9))
        return Call(self.place(), method)

    def bind(self, exchange: str) -> Call:
        key = self._of(BINDING_KEYS)
        self._bound.append((exchange, key))
        method = methods.QueueBind(self._queue(), exchange, key, False, self._binding_arguments())
        return Call(self.place(), method)

    def unbind(self) -> Call:
        method = methods.QueueUnbind(
            self._queue(), self._source(), self._of(BINDING_KEYS), self._binding_arguments()
        )
        return Call(self.place(), method)

    def exchange_binding(self) -> Call:
        kind = self._of((methods.ExchangeBind, methods.ExchangeBind, methods.ExchangeUnbind))
        names = (self._source() if not self._rarely(6) else "missing", self._source())
        method = kind(*names, self._of(BINDING_KEYS), False, self._binding_arguments())
        return Call(self.place(), method)

    def _binding_arguments(self) -> dict[str, Any]:
        if not self._one_in(3):
            return {}
        arguments = {"h1": self._of(HEADER_VALUES)}
        if self._one_in(2):
            arguments["h2"] = self._of(HEADER_VALUES)
        if self._one_in(2):
            kinds = ("all", "any", "all-with-x", "any-with-x", "nope", 5)
            arguments["x-match"] = self._of(kinds[:4] if self._calm else kinds)
        return arguments

    # -- an operator's hand

    def set_policy(self) -> SetPolicy:
        operator = self._one_in(4)
        names = ["max-length", "max-length-bytes", "message-ttl"]
        if not operator:
            # No overflow: RabbitMQ 3.10.8 keeps the old one while it looks at the new length.
            names += ["dead-letter-routing-key", "alternate-exchange"]
            names += [] if self._bcc else ["dead-letter-exchange"]
        definition = {name: self._policy_value(name) for name in self._some(names)}
        name = self._of(list(POLICY_PRIORITIES))
        return SetPolicy(
            *(f"{'operator-' if operator else ''}{name}", self._of(POLICY_PATTERNS)),
            "queues" if operator else self._of(("queues", "exchanges", "all", "all")),
            POLICY_PRIORITIES[name],
            definition or {"max-length": 2},
            operator,
        )

    def _policy_value(self, name: str) -> Any:
        values: dict[str, tuple[Any, ...]] = {
            "max-length": (0, 1, 2, 3, *self._odd(-1, "2")),
            "max-length-bytes": (12, 30),
            "message-ttl": (0,) if self._priorities else (0, TTL_MS),
            "dead-letter-exchange": ("", "", "x0", "amq.fanout", *self._odd(5)),
            "dead-letter-routing-key": QUEUES,
            "alternate-exchange": (*EXCHANGES, "amq.fanout"),
        }
        found = self._of(values[name])
        self.expires = self.expires or (name == "message-ttl" and found > 0)
        return found

    def clear_policy(self) -> ClearPolicy:
        operator = self._one_in(4)
        name = self._of(list(POLICY_PRIORITIES))
        return ClearPolicy(f"{'operator-' if operator else ''}{name}", operator)

    def permit(self) -> Permit:
        return Permit(*(self._of(PERMISSIONS) for _ in range(3)))

    # -- requests and their replies

    def await_replies(self) -> Call:
        method = methods.BasicConsume(
            REPLY_TO, "r0", no_ack=not self._rarely(6), exclusive=self._one_in(9)
        )
        return Call(self.place(), method)

    def ask(self) -> Publish:
        method = methods.BasicPublish("", self._queue(), mandatory=self._one_in(6))
        return Publish(self.place(), method, Properties(reply_to=REPLY_TO))

    def reply(self) -> Publish:
        exchange = "" if not self._rarely(6) else self._source()
        return Publish(self.place(), methods.BasicPublish(exchange, TOKEN), self._properties())

    # -- messages

    def publish(self) -> Publish:
        exchange, key = "", self._queue()
        if self._bound and self._one_in(3):
            exchange, key = self._of(self._bound)
        elif self._one_in(6):
            exchange, key = "no" if self._rarely(6) else self._source(), self._of(KEYS)
        method = methods.BasicPublish(exchange, key, mandatory=self._one_in(4))
        return Publish(
            self.place(), method, self._properties(), self._of((0, 0, 10, 14)), self._of((1, 1, 3))
        )

    def _properties(self) -> Properties:
        plain = self._one_in(2)
        found = Properties(delivery_mode=self._of((None, 1, 2)))
        if plain:
            return found
        found.priority = self._of((None, 0, 1, 2, 5, 255))
        found.content_type = self._of((None, "text/plain"))
        found.content_encoding = self._of((None, "", "gzip"))
        found.correlation_id = self._of((None, "c"))
        found.reply_to = self._of((None, "back"))
        found.message_id = self._of((None, "m"))
        found.timestamp = self._of((None, 0, 1_700_000_000))
        found.type = self._of((None, "t"))
        found.app_id = self._of((None, "ü"))
        found.user_id = self._of((None, None, None, "guest", *self._odd("other")))
        found.expiration = self._expiration()
        if Feature.PUBLISH_CHECKS not in self._features and found.user_id == "other":
            found.expiration = None
        if self._one_in(2):
            found.headers = self._headers()
        return found

    def _expiration(self) -> str | None:
        odd = self._rarely(12)
        text: str | None = (
            self._of(("", "x", "-1", "1.5")) if odd else "0" if self._one_in(8) else None
        )
        if not odd and self._priorities:
            return None
        if not odd and self._one_in(12):
            text, self.expires = str(TTL_MS), True
        return text

    def _headers(self) -> dict[str, Any]:
        names = self._some(("h1", "h2", "x-own"))
        headers = {name: self._of(HEADER_VALUES) for name in names}
        for name in ("CC", "BCC") if self._bcc else ("CC",):
            if self._one_in(6):
                headers[name] = self._of(([], ["q0"], ["q1", "a.b"], [5], *self._odd("q0")))
        return headers

    def consume(self) -> Call:
        method = methods.BasicConsume(
            queue=self._queue(),
            consumer_tag=self._of(("c0", "c1", "c2", "c3", "c4", "c5", "")),
            no_ack=self._single_active or self._one_in(4),
            exclusive=self._one_in(12),
            arguments={"x-priority": self._of((1, -1, *self._odd("a")))} if self._one_in(8) else {},
        )
        return Call(self._reader(), method)

    def get(self) -> Call:
        no_ack = self._one_in(4)
        self._got = self._got or not no_ack
        return Call(self._reader(), methods.BasicGet(self._queue(), no_ack))

    def _reader(self) -> int:
        """A place that will have something to settle."""
        self._readers.append(self.place())
        return self._readers[-1]

    def settle(self) -> Settle:
        return Settle(
            self._of(self._readers) if self._readers else 1,
            self._of(tuple(Outcome)),
            self._random.randrange(4),
            self._one_in(3),
            self._one_in(2),
        )

    def qos(self) -> Call:
        # RabbitMQ 3.10.8 takes what basic.get has got out of the room of a channel's prefetch that
        # is set after it, and never gives that back.
        of_channel = self._one_in(4) and not self._got
        method = methods.BasicQos(0, self._of((0, 1, 2, 3)), of_channel)
        return Call(self.place(), method)

    def cancel(self) -> Call:
        tag = self._of(("c0", "c1", "c2", "c3"))
        return Call(self.place(), methods.BasicCancel(tag, self._one_in(9)))

    def recover(self) -> Call:
        return Call(self.place(), methods.BasicRecover(requeue=not self._rarely(6)))

    def confirm_select(self) -> Call:
        return Call(self.place(), methods.ConfirmSelect(self._one_in(9)))

    def transaction(self) -> Call:
        kinds = (methods.TxSelect, methods.TxCommit, methods.TxCommit, methods.TxRollback)
        return Call(self.place(), self._of(kinds)())

    # -- the rest

    def close(self) -> CloseChannel | CloseConnection:
        return CloseConnection(self.place()) if self._one_in(3) else CloseChannel(self.place())

    def passive(self) -> Call:
        if self._one_in(2):
            method: methods.Method = methods.QueueDeclare(self._queue(), passive=True)
        else:
            name = self._of((*SOURCES, "missing", ""))
            method = methods.ExchangeDeclare(name, self._of(KINDS), passive=True)
        return Call(self.place(), method)

    def odd(self) -> Call:
        """A method that no careful client sends."""
        found = self._of(
            (
                methods.BasicAck(77, False),
                methods.BasicAck(0, False),
                methods.BasicAck(0, True),
                methods.BasicNack(77, True, True),
                methods.BasicReject(78, True),
                methods.BasicQos(10, 0, False),
                methods.ChannelOpen(),
                methods.QueueDeclare("amq.mine"),
                methods.QueueDeclareOk("q0"),
                methods.ExchangeDeclare("x0", "nope"),
                methods.QueueBind("missing", "amq.direct"),
                methods.QueueBind("q0", ""),
                methods.ConnectionOpen(),
            )
        )
        return Call(self.place(), found)

    def _queue(self) -> str:
        """A queue's name, as a rule of one that was declared."""
        if self._queues and not self._rarely(10):
            return str(self._of(list(self._queues)))
        return str(self._of(("missing", "", *QUEUES)))

    def _source(self) -> str:
        """An exchange that was declared, as a rule, or one of those that are always there."""
        if self._exchanges and self._one_in(2):
            return str(self._of(list(self._exchanges)))
        return str(self._of(SOURCES if self._rarely(5) else PREDECLARED))

    def _of(self, values: Any) -> Any:
        return self._random.choice(values)

    def _odd(self, *values: Any) -> tuple[Any, ...]:
        """``values``, and none of them where the sequence is to be calm."""
        return () if self._calm else values

    def _some(self, values: Any) -> list[Any]:
        found: list[Any] = self._random.sample(values, self._random.randint(0, len(values)))
        return found[:3]

    def _rarely(self, count: int) -> bool:
        """True once in ``count`` times, and never in a calm sequence: a choice that is refused, as
        a rule."""
        return not self._calm and self._one_in(count)

    def _one_in(self, count: int) -> bool:
        return self._random.randrange(count) == 0
