"""The rules of meaning for policies, and for queues that have a policy of their own. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from mqkit.declaration import Exchange, Queue
from mqkit.topology.compile import compile_topology, queue_arguments
from mqkit.topology.file.fault import Fault, meant
from mqkit.topology.file.section import MAX_SHORT_STRING_BYTES, segment
from mqkit.topology.model import QueueModel, Topology
from mqkit.topology.policy.in_force import compiled, matches
from mqkit.topology.policy.keys import POLICY_KEYS, VIA_POLICY, argument_of
from mqkit.topology.policy.own import SUFFIX, own_name
from mqkit.topology.policy.policy_model import PolicyModel

MAX_PATTERN_BYTES = 8_192
"""Some hundreds of names in one alternation; the reference broker takes no more."""


def policy_faults(topology: Topology) -> Iterator[Fault]:
    """Every fault of policies and of ``via_policy``."""
    for policy in topology.policies:
        yield from _policy(policy)
    names = {policy.name for policy in topology.policies}
    for queue in topology.queues:
        if queue.via_policy:
            yield from _via_policy(queue, names)
    yield from _ambiguous(topology)


def _policy(policy: PolicyModel) -> Iterator[Fault]:
    path = f"policies.{segment(policy.name)}"
    if not policy.name:
        yield Fault(policy.line, path, "an empty name")
    line = policy.line_of("pattern")
    if len(policy.pattern.encode("utf-8", "surrogatepass")) > MAX_PATTERN_BYTES:
        message = f"over {MAX_PATTERN_BYTES} bytes long: use several policies"
        yield Fault(line, f"{path}.pattern", message)
    elif compiled(policy.pattern) is None:
        message = f"{policy.pattern!r} is no regular expression"
        yield Fault(line, f"{path}.pattern", message)
    line = policy.line_of("definition")
    path = f"{path}.definition"
    if not policy.definition:
        yield Fault(line, path, "it is empty (expected keys like max-length, with their values)")
    for key, value in policy.definition.items():
        known = POLICY_KEYS.get(key)
        if known is None:
            message = f"no policy has the key {key!r} ({_meant(key)})"
            yield Fault(line, f"{path}.{segment(key)}", message)
        elif not known.valid(value):
            yield Fault(line, f"{path}.{segment(key)}", f"{value!r} is not {known.expected}")


def _meant(key: str) -> str:
    dashed = key.removeprefix("x-").replace("_", "-")
    return f"did you mean {dashed!r}?" if dashed in POLICY_KEYS else meant(key, POLICY_KEYS)


def _via_policy(queue: QueueModel, names: set[str]) -> Iterator[Fault]:
    path, line = f"queues.{segment(queue.name)}.via_policy", queue.line_of("via_policy")
    arguments = queue_arguments(queue)
    for listed in queue.via_policy:
        keys = VIA_POLICY.get(listed)
        if keys is None:
            message = f"{listed!r} is no key that a policy can have ({meant(listed, VIA_POLICY)})"
            yield Fault(line, path, message)
            continue
        if argument_of(keys[0]) not in arguments:
            message = (
                f"{listed!r} is listed, and the queue has no {listed}: add it, or leave it out"
            )
            yield Fault(line, path, message)
        for key in keys:
            if argument_of(key) in queue.arguments:
                message = f"{listed!r} is listed, and {argument_of(key)} among the arguments, too"
                yield Fault(line, path, message)
            if queue.type is not None and queue.type in POLICY_KEYS[key].unsuited:
                yield Fault(line, path, f"{listed!r} is listed, which a {queue.type} has not")
    if queue.exclusive:
        yield Fault(line, path, "via_policy on an exclusive queue, whose name is not its own")
    name = own_name(queue.name)
    if name in names:
        yield Fault(line, path, f"the policy of its own would be {name!r}, which is declared, too")
    if len(name.encode("utf-8", "surrogatepass")) > MAX_SHORT_STRING_BYTES:
        message = f"the name of its policy has {SUFFIX!r} behind the queue's: over 255 bytes"
        yield Fault(line, path, message)


def _ambiguous(topology: Topology) -> Iterator[Fault]:
    """Two policies of one priority of which either may apply to an object: a broker does not say
    which one does."""
    if len(topology.policies) <= 1:
        return
    told: set[tuple[str, str]] = set()
    ranked = sorted(topology.policies, key=lambda policy: -policy.priority)
    for item in compile_topology(topology):
        if not isinstance(item, Exchange | Queue):
            continue
        matching = [policy for policy in ranked if matches(policy, item)]
        _, tops = next(groupby(matching, key=lambda policy: policy.priority), (0, iter(())))
        first, second, *_ = (*tops, None, None)
        if first is None or second is None or (first.name, second.name) in told:
            continue
        told.add((first.name, second.name))
        message = (
            f"it and {first.name!r} both match {item.name!r} at priority {first.priority}: one"
            " policy applies, and a broker does not say which; give one a higher priority"
        )
        line = second.line_of("priority", "pattern")
        yield Fault(line, f"policies.{segment(second.name)}", message)
