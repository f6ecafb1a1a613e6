"""A queue's own policy, read back as ``via_policy``. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from mqkit.declaration import Queue
from mqkit.topology.model import QueueModel
from mqkit.topology.planning.diff import canonical
from mqkit.topology.policy.in_force import best
from mqkit.topology.policy.keys import VIA_POLICY, argument_of
from mqkit.topology.policy.own import compile_own, own_name, own_pattern
from mqkit.topology.policy.policy_model import PolicyModel


class Form(NamedTuple):
    """A queue as if what ``via_policy`` lists were arguments of it."""

    queue: Queue
    via_policy: tuple[str, ...] = ()


class OwnPolicies:
    """The policies of a broker, some of which are queues' own."""

    def __init__(self, policies: Sequence[PolicyModel]) -> None:
        self._policies = policies
        self._by_name = {policy.name: policy for policy in policies}

    def forms(self, queue: Queue) -> Iterator[Form]:
        """The queue with its own policy, if it has one: with the keys that the policy beneath does
        not say alike, then with all; and last without."""
        own = self._own(queue)
        if own is not None:
            beneath = best(self._others(own), queue)
            said = {} if beneath is None else beneath.definition
            differing = [
                key
                for key, value in own.definition.items()
                if key not in said or canonical(said[key]) != canonical(value)
            ]
            yield from _form(queue, own, differing)
            yield from _form(queue, own, list(own.definition))
        yield Form(queue)

    def proves(self, model: QueueModel) -> bool:
        """True if the model's ``via_policy`` compiles to the policy that is there."""
        if not model.via_policy:
            return True
        own = self._by_name.get(own_name(model.name))
        return own is not None and _same(compile_own(model, self._others(own)), own)

    def _own(self, queue: Queue) -> PolicyModel | None:
        own = self._by_name.get(own_name(queue.name))
        return own if own is not None and own.pattern == own_pattern(queue.name) else None

    def _others(self, own: PolicyModel) -> list[PolicyModel]:
        return [policy for policy in self._policies if policy is not own]


def _form(queue: Queue, own: PolicyModel, keys: Sequence[str]) -> Iterator[Form]:
    """The form, unless a key can't be in ``via_policy`` or is an argument, too."""
    listed = tuple(name for name, group in VIA_POLICY.items() if group[0] in keys)
    sayable = {key for name in listed for key in VIA_POLICY[name]}
    if not listed or any(argument_of(key) in queue.arguments for key in keys):
        return
    taken = {argument_of(key): own.definition[key] for key in own.definition if key in sayable}
    yield Form(replace(queue, arguments={**queue.arguments, **taken}), listed)


def _same(made: PolicyModel, live: PolicyModel) -> bool:
    return replace(made, definition={}) == replace(live, definition={}) and canonical(
        made.definition
    ) == canonical(live.definition)
