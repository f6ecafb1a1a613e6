"""The ``ha-*`` keys of a policy, which RabbitMQ checks together. They have no effect here: what
they ask for is a second node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reference_broker.core.base.erlang_term import erlang_term
from reference_broker.core.policy.policy_keys import MIRRORING_KEYS

_ABSENT = object()


def mirroring_fault(definition: Mapping[str, Any]) -> str | None:
    """The first thing that RabbitMQ 3.10 refuses about them, in its words; ``None`` if nothing."""
    if not any(key in definition for key in MIRRORING_KEYS):
        return None
    if "ha-mode" not in definition:
        return (
            "ha-mode must be specified to specify ha-params, ha-sync-mode or ha-promote-on-shutdown"
        )
    mode = definition["ha-mode"]
    check = _PARAMETERS.get(mode) if isinstance(mode, str) else None
    if check is None:
        return f"{erlang_term(mode)} is not a valid ha-mode value"
    fault = check(definition.get("ha-params", _ABSENT))
    if fault is not None:
        return fault
    return _fault_of_synchronising(definition)


def _fault_of_synchronising(definition: Mapping[str, Any]) -> str | None:
    for key, (one, other) in _CHOICES.items():
        value = definition.get(key, one)
        if value not in (one, other):
            return f'{key} must be "{one}" or "{other}", got {erlang_term(value)}'
    size = definition.get("ha-sync-batch-size", 1)
    if type(size) is not int or size < 1:
        return f"ha-sync-batch-size takes an integer greater than 0, {erlang_term(size)} given"
    return None


_CHOICES = {
    "ha-sync-mode": ("manual", "automatic"),
    "ha-promote-on-shutdown": ("always", "when-synced"),
    "ha-promote-on-failure": ("always", "when-synced"),
}


def _of_all(parameters: Any) -> str | None:
    return None if parameters is _ABSENT else 'ha-mode="all" does not take parameters'


def _of_exactly(parameters: Any) -> str | None:
    if type(parameters) is int and parameters > 0:
        return None
    return f'ha-mode="exactly" takes an integer, {_given(parameters)} given'


def _of_nodes(parameters: Any) -> str | None:
    if not isinstance(parameters, list):
        return f'ha-mode="nodes" takes a list, {_given(parameters)} given'
    if not parameters:
        return 'ha-mode="nodes" list must be non-empty'
    others = [name for name in parameters if not isinstance(name, str)]
    if others:
        return f'ha-mode="nodes" takes a list of strings, {erlang_term(others)} was not a string'
    return None


def _given(parameters: Any) -> str:
    return "none" if parameters is _ABSENT else erlang_term(parameters)


_PARAMETERS: dict[str, Callable[[Any], str | None]] = {
    "all": _of_all,
    "exactly": _of_exactly,
    "nodes": _of_nodes,
}
