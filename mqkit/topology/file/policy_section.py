"""``policies:`` of a file, and ``via_policy:`` of a queue."""

from __future__ import annotations

from mqkit.topology.file.document import Entry, ScalarNode
from mqkit.topology.file.fault import Fault, meant
from mqkit.topology.file.section import Section, show
from mqkit.topology.policy.keys import VIA_POLICY
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel

POLICY_KEYS = ("pattern", "apply_to", "priority", "definition")
MAX_PRIORITY = 2**53
"""Of a policy, either way: above it a JSON number is not exact."""


def read_policies(top: Section, objects: set[str]) -> tuple[PolicyModel, ...]:
    """The policies of the file; their paths are added to ``objects``."""
    policies = []
    for path, entry in top.entries("policies", "policy names to policies"):
        objects.add(path)
        policies.append(_policy(entry, path, top.faults))
    return tuple(policies)


def read_via_policy(section: Section) -> tuple[str, ...]:
    """The keys that are listed, each once; what they can be is checked here, and what they need
    beside them by the rules of meaning."""
    listed: list[str] = []
    for path, node in section.items("via_policy", "keys like [max_length, overflow]"):
        word = node.value if isinstance(node, ScalarNode) else None
        if word not in VIA_POLICY:
            found = node.text if isinstance(node, ScalarNode) else ""
            message = f"{show(node)} is no key that a policy can have ({meant(found, VIA_POLICY)})"
            section.faults.append(Fault(node.line, path, message))
        elif word in listed:
            section.faults.append(Fault(node.line, path, f"{show(node)} is listed twice"))
        else:
            listed.append(str(word))
    return tuple(listed)


def _policy(entry: Entry, path: str, faults: list[Fault]) -> PolicyModel:
    section = Section(entry.value, path, POLICY_KEYS, faults)
    section.short(entry.key, entry.line, path)
    missing = [key for key in ("pattern", "definition") if not section.has(key)]
    if section.is_mapping:
        faults += [Fault(entry.line, path, f"{key!r} is missing") for key in missing]
    priority = section.number("priority", -MAX_PRIORITY, MAX_PRIORITY) or 0
    node = section.node("pattern")
    pattern = node.value if isinstance(node, ScalarNode) else None
    if node is not None and not isinstance(pattern, str):
        section.fault(node.line, f"{path}.pattern", node, "text (quote it if it is a number)")
    return PolicyModel(
        name=entry.key,
        pattern=pattern if isinstance(pattern, str) else "",
        apply_to=section.choice("apply_to", ApplyTo) or ApplyTo.ALL,
        priority=int(priority) if priority == int(priority) else priority,
        definition=section.arguments("definition"),
        line=entry.line,
        key_lines=section.lines(),
    )
