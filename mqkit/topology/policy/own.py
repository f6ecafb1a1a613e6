"""A queue's own policy: the keys that its ``via_policy`` lists. Pure.

It is for this one queue, and is named after it. Since one policy applies to a queue, it takes along
the keys of the one that would apply otherwise, and its priority is one higher.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mqkit.topology.compile import compile_queues, queue_arguments
from mqkit.topology.model import QueueModel, Topology
from mqkit.topology.policy.in_force import best
from mqkit.topology.policy.keys import VIA_POLICY, argument_of
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel

SUFFIX = ".policy"
_SPECIAL = frozenset(r"\^$.[]|()?*+{}")


def own_name(queue: str) -> str:
    """The name of the policy of a queue's own."""
    return queue + SUFFIX


def own_pattern(queue: str) -> str:
    """A pattern that matches this name and no other, in PCRE, RE2 and Python alike."""
    escaped = "".join(f"\\{one}" if one in _SPECIAL else one for one in queue)
    return f"^{escaped}$"


def is_own(policy: PolicyModel) -> bool:
    """True if the policy has name and pattern of a queue's own."""
    queue = policy.name.removesuffix(SUFFIX)
    return policy.name != queue and policy.pattern == own_pattern(queue)


def owner_of(policy: PolicyModel) -> str:
    """The queue of a policy that :func:`is_own`."""
    return policy.name.removesuffix(SUFFIX)


def compile_policies(
    topology: Topology, live: Iterable[PolicyModel] = ()
) -> tuple[PolicyModel, ...]:
    """The policies of the file, then the queues' own.

    ``live`` are those of the broker: one of another name than all in the file may be what would
    apply to a queue, and is taken along then.
    """
    names = {policy.name for policy in topology.policies}
    others = [
        *topology.policies,
        *(policy for policy in live if policy.name not in names and not is_own(policy)),
    ]
    return (
        *topology.policies,
        *(
            compile_own(model, others)
            for model in topology.queues
            if model.via_policy and not model.external
        ),
    )


def compile_own(model: QueueModel, others: Sequence[PolicyModel]) -> PolicyModel:
    """The policy of the queue's own, above those of ``others``."""
    queue = next(part for part in compile_queues(model) if part.name == model.name)
    masked = best(others, queue)
    return PolicyModel(
        own_name(model.name),
        own_pattern(model.name),
        ApplyTo.QUEUES,
        0 if masked is None else masked.priority + 1,
        {**({} if masked is None else masked.definition), **own_definition(model)},
        model.line_of("via_policy"),
    )


def own_definition(model: QueueModel) -> dict[str, Any]:
    """The definition that ``via_policy`` takes out of the queue's arguments."""
    arguments = queue_arguments(model)
    return {
        key: arguments[argument_of(key)]
        for listed in model.via_policy
        for key in VIA_POLICY.get(listed, ())
        if argument_of(key) in arguments
    }
