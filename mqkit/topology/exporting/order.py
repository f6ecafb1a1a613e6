"""A snapshot in an order of its own, so that two brokers with the same objects export the same
text. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mqkit.declaration import Binding
from mqkit.topology.planning.diff import canonical
from mqkit.topology.policy.policy_model import PolicyModel
from mqkit.topology.snapshot import Snapshot


def in_order(snapshot: Snapshot) -> Snapshot:
    """Objects by their names; arguments and definitions by their keys, at every depth."""
    return replace(
        snapshot,
        exchanges=tuple(
            replace(it, arguments=_sorted(it.arguments))
            for it in sorted(snapshot.exchanges, key=lambda it: it.name)
        ),
        queues=tuple(
            replace(it, queue=replace(it.queue, arguments=_sorted(it.queue.arguments)))
            for it in sorted(snapshot.queues, key=lambda it: it.queue.name)
        ),
        bindings=tuple(
            replace(it, arguments=_sorted(it.arguments))
            for it in sorted(snapshot.bindings, key=_place)
        ),
        policies=_policies(snapshot.policies),
        operator_policies=_policies(snapshot.operator_policies),
    )


def _place(binding: Binding) -> tuple[str, ...]:
    return binding.source, binding.destination, binding.key, canonical(binding.arguments)


def _policies(policies: tuple[PolicyModel, ...]) -> tuple[PolicyModel, ...]:
    return tuple(
        replace(it, definition=_sorted(it.definition))
        for it in sorted(policies, key=lambda it: it.name)
    )


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list | tuple):
        return [_sorted(part) for part in value]
    return value
