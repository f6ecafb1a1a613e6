"""The policies of a virtual host, and their application to its queues and exchanges.

The law: what is set is in the journal when the method returns, and an object that is declared has
its policies from its first moment. What was there before gets them through :mod:`policy_sweep`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from reference_broker.core.access import access_definition
from reference_broker.core.base.pattern import STEPS_PER_UNIT
from reference_broker.core.journal.definition_store import Change
from reference_broker.core.policy.policy import (
    AppliedPolicies,
    Policy,
    PolicyKind,
    PolicyTable,
    octets,
)
from reference_broker.core.policy.policy_definition import (
    encode_policy,
    policy_key,
    stored_policies,
)
from reference_broker.core.policy.policy_validation import PolicyRefused, PolicyWish
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.policy_effect import apply_to_exchange, apply_to_queue
from reference_broker.core.vhost.policy_sweep import PolicySweep, Subject

if TYPE_CHECKING:
    from reference_broker.core.base.deadlines import Deadlines
    from reference_broker.core.base.ids import Ids
    from reference_broker.core.base.moment import Moment
    from reference_broker.core.dead_letter.dead_letters import DeadLetters
    from reference_broker.core.exchange.definitions import QueueDefinition
    from reference_broker.core.exchange.exchange import Exchange
    from reference_broker.core.journal.definition_store import DefinitionStore
    from reference_broker.core.work.budget import Budget
    from reference_broker.core.work.task import Steps

MAX_POLICIES = 1_000
"""Policies of each kind in a virtual host: every declaration is matched with all of them, about a
microsecond each."""

MAX_INSTRUCTIONS = 20_000
"""Instructions of the patterns of those policies, all of which a declaration may have to take for
each octet of its name: 40 ms at the very worst. A name or a prefix is 4 to 6 of them."""

POLICIES_PER_UNIT = 4
"""Policies that a declaration is matched with in the time of a unit, where the patterns are plain.
"""

SUBJECTS_PER_UNIT = 128
"""Queues and exchanges that are listed for a sweep in the time of a unit."""


class PolicyHost(Protocol):
    """A virtual host, as its policies see it."""

    name: str
    definitions: DefinitionStore
    budget: Budget
    moment: Moment
    deadlines: Deadlines
    dead_letters: DeadLetters
    exchanges: Mapping[str, Exchange]
    queues: Mapping[str, Queue]
    require_unlocked: Callable[[], None]


class Policies:
    """The policies of one virtual host. ``changed`` is called after a change that can alter a
    route."""

    def __init__(self, host: PolicyHost, ids: Ids, changed: Callable[[], None]) -> None:
        self._host = host
        self.budget = host.budget
        self._ids = ids
        self._changed = changed
        self._tables = {kind: PolicyTable() for kind in PolicyKind}
        self._sweep = PolicySweep(self)
        self._rerouted = False

    def of(self, kind: PolicyKind) -> list[Policy]:
        """All policies of a kind, best first."""
        return list(self._tables[kind])

    def get(self, kind: PolicyKind, name: str) -> Policy | None:
        """The policy of that name; ``None`` when there is none."""
        return self._tables[kind].get(name)

    @property
    def under_way(self) -> bool:
        """True while a change has not reached every queue and exchange."""
        return self._sweep.under_way

    # Changing

    def set(self, kind: PolicyKind, name: str, wish: PolicyWish) -> bool:
        """Set a policy, or change it; true for a new one. Whoever asked is answered when the
        journal is synced. The same once more changes nothing.

        Raises :exc:`PolicyRefused` at ``MAX_POLICIES`` and ``MAX_INSTRUCTIONS``, and :exc:`NotYet`
        while somebody else has the right to declare.
        """
        self._host.require_unlocked()
        table = self._tables[kind]
        before = table.get(name)
        if before is not None and _is_same(before, wish):
            return False
        if before is None and len(table) >= MAX_POLICIES:
            raise PolicyRefused([f"a virtual host has at most {MAX_POLICIES} policies of a kind"])
        instructions = table.instructions + wish.pattern.instructions
        if before is not None:
            instructions -= before.pattern.instructions
        if instructions > max(MAX_INSTRUCTIONS, table.instructions):
            raise PolicyRefused([too_dear(instructions)])
        number = self._ids.next() if before is None else before.number
        policy = Policy(name, *wish, number)
        vhost_key = access_definition.key_of(access_definition.VHOST, self._host.name)
        change = Change(self._key(kind, name), encode_policy(policy), (vhost_key,))
        self._host.definitions.agree((change,))
        self.put(kind, policy)
        return before is None

    def put(self, kind: PolicyKind, policy: Policy) -> None:
        """Have the policy be there, as was agreed."""
        self._tables[kind].put(policy)
        self._sweep.start(
            lambda subject: _has(subject, kind, policy.name) or self._covers(policy, subject)
        )

    def remove(self, kind: PolicyKind, name: str) -> bool:
        """Remove a policy; false when there is none of that name. See :meth:`set`."""
        self._host.require_unlocked()
        if self._tables[kind].get(name) is None:
            return False
        self._host.definitions.agree((Change(self._key(kind, name), None),))
        self.drop(kind, name)
        return True

    def drop(self, kind: PolicyKind, name: str) -> None:
        """Have the policy be gone, as was agreed. Fine where there is none."""
        if self._tables[kind].remove(name) is not None:
            self._sweep.start(lambda subject: _has(subject, kind, name))

    def drop_all(self) -> Steps:
        """The steps of removing every policy, and leaving the queues and exchanges as they are:
        they are about to go, too."""
        budget = self.budget
        for kind, table in self._tables.items():
            for policy in list(table):
                if table.remove(policy.name) is not None:
                    self._host.definitions.forget(self._key(kind, policy.name))
                budget.left -= 1
                if budget.left <= 0:
                    yield None

    def _key(self, kind: PolicyKind, name: str) -> str:
        return policy_key(kind, self._host.name, name)

    # What is declared

    def adopt_queue(self, queue: Queue) -> None:
        """Give ``queue``, which is new and holds nothing yet, its policies."""
        policies = self._for(queue)
        if any(policies):
            apply_to_queue(queue, policies)

    def adopt_exchange(self, exchange: Exchange) -> None:
        """Give ``exchange``, which is new and in no route yet, its policies."""
        policies = self._for(exchange)
        if any(policies):
            apply_to_exchange(exchange, policies)

    def for_queue(self, queue: Queue | QueueDefinition) -> AppliedPolicies:
        """The policies that a queue gets; of one that is not there yet, if it were declared now."""
        name, type = octets(queue.name), _type_of(queue)
        self._pay(name)
        return AppliedPolicies(
            *[table.best_for_queue(name, type) for table in self._tables.values()]
        )

    def _for(self, subject: Subject) -> AppliedPolicies:
        if isinstance(subject, Queue):
            return self.for_queue(subject)
        name = octets(subject.name)
        self._pay(name)
        return AppliedPolicies(*[table.best_for_exchange(name) for table in self._tables.values()])

    def _pay(self, name: bytes) -> None:
        for table in self._tables.values():
            steps = table.instructions * len(name)
            self.budget.left -= len(table) // POLICIES_PER_UNIT + steps // STEPS_PER_UNIT

    def _covers(self, policy: Policy, subject: Subject) -> bool:
        name = octets(subject.name)
        self.budget.left -= policy.pattern.units(name)
        if isinstance(subject, Queue):
            return policy.covers_queue(name, _type_of(subject))
        return policy.covers_exchange(name)

    # What a sweep asks

    def subjects(self) -> Iterable[Subject]:
        """All exchanges and queues; exchanges first, as there are fewer."""
        subjects: list[Subject] = [*self._host.exchanges.values(), *self._host.queues.values()]
        self.budget.left -= len(subjects) // SUBJECTS_PER_UNIT
        return subjects

    def refresh(self, subject: Subject) -> int:
        """See :class:`~reference_broker.core.vhost.policy_sweep.SweepPort`."""
        policies = self._for(subject)
        if policies == subject.policies:
            return 0
        if not isinstance(subject, Queue):
            if apply_to_exchange(subject, policies):
                self._rerouted = True
            return 0
        if subject.deleted:
            return 0
        apply_to_queue(subject, policies)
        return 0

    def swept(self) -> None:
        """See :class:`~reference_broker.core.vhost.policy_sweep.SweepPort`."""
        if self._rerouted:
            self._rerouted = False
            self._changed()

    def go_on_later(self, callback: Callable[[], None]) -> None:
        """See :class:`~reference_broker.core.vhost.policy_sweep.SweepPort`."""
        self._host.deadlines.at(self._host.moment.wall_ms, callback)

    # Recovery

    def restore(self, definitions: Mapping[str, bytes]) -> None:
        """Take up what the journal holds of this virtual host. To be called before its queues are
        restored; its exchanges follow with :meth:`adopt_exchange`. Raises :exc:`Corrupt`."""
        for kind, table in self._tables.items():
            for policy in stored_policies(kind, self._host.name, definitions):
                table.put(policy)


def too_dear(instructions: int) -> str:
    """The reason why policies are refused whose patterns have so many instructions."""
    return (
        f"the patterns of a virtual host's policies of a kind have at most {MAX_INSTRUCTIONS}"
        f" instructions together, and these have {instructions}: use shorter ones, with fewer"
        " repetitions"
    )


def _is_same(policy: Policy, wish: PolicyWish) -> bool:
    return (policy.pattern.text, policy.apply_to, policy.definition, policy.priority) == (
        wish.pattern.text,
        wish.apply_to,
        wish.definition,
        wish.priority,
    )


def _has(subject: Subject, kind: PolicyKind, name: str) -> bool:
    user, operator = subject.policies
    policy = user if kind is PolicyKind.USER else operator
    return policy is not None and policy.name == name


def _type_of(queue: Queue | QueueDefinition) -> str:
    type: str = queue.arguments.get("x-queue-type", "classic")
    return type
