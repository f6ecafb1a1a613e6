"""A queue whose policies change while it is used. Its laws: nothing is lost by that, as every
policy sends the messages that it cuts off to another queue; and a policy whose setting is on disk
is there after any restart, or a later one is."""

from __future__ import annotations

from typing import Any

from mqkit.wire.methods import Method, QueueDeclare
from reference_broker.core.broker import Broker
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.simulation.clients.features.feature import Feature
from reference_broker.simulation.clients.features.line import Line

_NAME = "limits"


class PoliciesAtWork(Feature):
    name = "policies"
    queues = ("limited", "leftovers")
    requeue_chance = 0.3
    operator_chance = 0.15

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self._set: list[tuple[int, Any]] = []
        """Definitions, the log's tail after each was set, and the newest that is on disk first."""
        self.in_force = False

    def declarations(self) -> list[Method]:
        return [QueueDeclare(queue=queue, durable=True) for queue in self.queues]

    def publish(self, line: Line) -> None:
        if self.in_force:  # until then what expires is gone
            line.publish("", "limited", self.post(line, [self.queues]))

    def administer(self, broker: Broker) -> None:
        random, policies = self.random, broker.vhosts[self.vhost].policies
        definition: dict[str, Any] = {
            "dead-letter-exchange": "",
            "dead-letter-routing-key": "leftovers",
        }
        limits: tuple[dict[str, int], ...] = (
            {"max-length": random.randint(0, 10)},
            {"message-ttl": random.randint(0, 2_000)},
            {"max-length-bytes": random.randint(0, 500)},
            {"message-ttl": random.randint(0, 2_000), "max-length": random.randint(0, 10)},
            {},
        )
        definition |= random.choice(limits)
        value = {"pattern": "^limited$", "definition": definition, "apply-to": "queues"}
        policies.set(PolicyKind.USER, _NAME, PolicyWish.parse(PolicyKind.USER, _NAME, value))
        self._note_synced(broker)
        self._set.append((broker.journal.tail, definition))

    def started(self, broker: Broker) -> None:
        found = broker.vhosts[self.vhost].policies.get(PolicyKind.USER, _NAME)
        definition = None if found is None else dict(found.definition)
        allowed = [each for _, each in self._set] if self.in_force else [None, *self._all()]
        if definition not in allowed:
            raise self.fail(f"the policy is {definition}, and {allowed} may be")
        self._set = [] if definition is None else [(0, definition)]
        self.in_force = definition is not None

    def looked_at(self, broker: Broker) -> None:
        self._note_synced(broker)

    def _all(self) -> list[Any]:
        return [each for _, each in self._set]

    def _note_synced(self, broker: Broker) -> None:
        """Forget definitions before the newest that is on disk."""
        synced = [
            place for place, (tail, _) in enumerate(self._set) if tail <= broker.journal.synced
        ]
        if synced:
            self.in_force = True
            del self._set[: synced[-1]]
