"""Exchanges, queues, bindings and policies that come and go. Its laws are those of
:class:`~reference_broker.simulation.watch.definitions.DefinitionModel`, at each start and at all
times: what was answered is so. Nothing is declared twice."""

from __future__ import annotations

from collections import deque
from typing import Any

from mqkit.wire.methods import (
    ExchangeBind,
    ExchangeBindOk,
    ExchangeDeclare,
    ExchangeDeclareOk,
    ExchangeDelete,
    ExchangeDeleteOk,
    ExchangeUnbind,
    ExchangeUnbindOk,
    Method,
    QueueBind,
    QueueBindOk,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
    QueueUnbind,
    QueueUnbindOk,
)
from reference_broker.core.broker import Broker
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.simulation.clients.features.feature import Feature
from reference_broker.simulation.clients.features.line import Line
from reference_broker.simulation.disk.definitions import of_vhost
from reference_broker.simulation.events import definitions
from reference_broker.simulation.events.definitions import Key, definition_of
from reference_broker.simulation.watch.definitions import Change, DefinitionModel

_DONE = (
    ExchangeBindOk, ExchangeDeclareOk, ExchangeDeleteOk, ExchangeUnbindOk,
    QueueBindOk, QueueDeclareOk, QueueDeleteOk, QueueUnbindOk,
)  # fmt: skip
_STEADY = QueueDeclare(queue="steady", durable=True)
_CHANGE_CHANCE = 0.6
"""Chance that definitions change when the client acts. Otherwise it publishes or settles."""
_DURABLE_CHANCE = 0.8
_CHANGES_MAX = 4
"""Changes in one piece."""

_EXCHANGES = tuple(f"e{number}" for number in range(3))
_QUEUES = tuple(f"q{number}" for number in range(5))
_POLICIES = ("p0", "p1")
_ROUTING_KEYS = ("", "key")
_ARGUMENTS: tuple[dict[str, Any], ...] = (
    {},
    {"x-message-ttl": 60_000},
    {"x-max-length": 7, "x-overflow": "reject-publish"},
    {"x-max-priority": 4},
    {"x-queue-type": "quorum", "x-delivery-limit": 3},
    {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "steady"},
)


class DefinitionsAtWork(Feature):
    name = "definitions"
    queues = ("steady",)
    operator_chance = 0.1

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.model = DefinitionModel()
        self._asked: deque[Change] = deque()
        """Changes that the line has asked for, in order, and that were not answered."""
        self._set: list[tuple[int, Change]] = []
        """Changes of policies, with the log's tail after each."""

    def declarations(self) -> list[Method]:
        self._asked.clear()
        definition = definition_of(_STEADY)
        assert definition is not None
        if self.model.state(definition.key):
            return []
        self._asked.append(self.model.asked(definition))
        return [_STEADY]

    def publish(self, line: Line) -> None:
        line.publish("", "steady", self.post(line, [("steady",)]))

    def act(self, line: Line) -> None:
        if self.draining or self.random.random() >= _CHANGE_CHANCE:
            super().act(line)
            return
        for _ in range(self.random.randint(1, _CHANGES_MAX)):
            change = self.random.choice((self._change_queue, self._change_exchange, self._rebind))
            change(line)

    def answered(self, line: Line, method: Method) -> None:
        if isinstance(method, _DONE):
            self.model.answered(self._asked.popleft())

    # What its client asks for. It makes what surely is not there, and deletes everything else.

    def _change_queue(self, line: Line) -> None:
        name = self.random.choice(_QUEUES)
        if self.model.state(definitions.queue_key(name)) is not False:
            self._delete(line, QueueDelete(queue=name), definitions.queue_key(name))
            return
        arguments = self.random.choice(_ARGUMENTS)
        durable = "x-queue-type" in arguments or self.random.random() < _DURABLE_CHANCE
        self._make(line, QueueDeclare(queue=name, durable=durable, arguments=arguments))

    def _change_exchange(self, line: Line) -> None:
        name = self.random.choice(_EXCHANGES)
        if self.model.state(definitions.exchange_key(name)) is not False:
            self._delete(line, ExchangeDelete(name), definitions.exchange_key(name))
            return
        kind = self.random.choice(("fanout", "direct", "topic", "headers"))
        durable = self.random.random() < _DURABLE_CHANCE
        self._make(line, ExchangeDeclare(name, kind, durable=durable))

    def _rebind(self, line: Line) -> None:
        """Bind or unbind two that are surely there."""
        source, other = self.random.sample(_EXCHANGES, 2)
        routing_key = self.random.choice(_ROUTING_KEYS)
        bind: Method = ExchangeBind(other, source, routing_key)
        unbind: Method = ExchangeUnbind(other, source, routing_key)
        destination = definitions.exchange_key(other)
        if self.random.random() < 0.8:
            queue = self.random.choice(_QUEUES)
            bind = QueueBind(queue, source, routing_key)
            unbind = QueueUnbind(queue, source, routing_key)
            destination = definitions.queue_key(queue)
        binding = definitions.binding(source, destination, routing_key, {})
        if not all(self.model.state(end) for end in binding.ends):
            return
        if self.model.state(binding.key) is not False:
            self._delete(line, unbind, binding.key)
        else:
            self._asked.append(self.model.asked(binding))
            line.ask(bind)

    def _make(self, line: Line, method: Method) -> None:
        definition = definition_of(method)
        assert definition is not None
        self._asked.append(self.model.asked(definition))
        line.ask(method)

    def _delete(self, line: Line, method: Method, key: Key) -> None:
        self._asked.append(self.model.asked(deleted=[key]))
        line.ask(method)

    # The operator, and the broker

    def administer(self, broker: Broker) -> None:
        policies, name = broker.vhosts[self.vhost].policies, self.random.choice(_POLICIES)
        if policies.get(PolicyKind.USER, name) is not None and self.random.random() < 0.5:
            change = self.model.asked(deleted=[("policy", name)])
            policies.remove(PolicyKind.USER, name)
        else:
            definition = {"max-length": self.random.randint(0, 9)}
            value = {"pattern": "^q", "definition": definition, "apply-to": "queues"}
            change = self.model.asked(definitions.policy(name, "^q", definition))
            policies.set(PolicyKind.USER, name, PolicyWish.parse(PolicyKind.USER, name, value))
        self._set.append((broker.journal.tail, change))

    def looked_at(self, broker: Broker) -> None:
        while self._set and self._set[0][0] <= broker.journal.synced:
            self.model.answered(self._set.pop(0)[1])
        self._judge(self.model.look(of_vhost(broker.vhosts[self.vhost])))

    def started(self, broker: Broker) -> None:
        self._set.clear()
        self._judge(self.model.started(of_vhost(broker.vhosts[self.vhost])))

    def _judge(self, wrong: str) -> None:
        if wrong:
            raise self.fail(wrong)
