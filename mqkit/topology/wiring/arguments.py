"""Arguments in force of an object, its policies' values included. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqkit.declaration import Exchange, Queue
from mqkit.topology.policy.comparing import PolicySet
from mqkit.topology.policy.keys import argument_of


def arguments_in_force(declared: Exchange | Queue, policies: PolicySet) -> Mapping[str, Any]:
    """The arguments of the object, as they would be if its policies' values were among them."""
    settings = policies.settings_on(declared)
    by_policy = {argument_of(key): setting.value for key, setting in settings.items()}
    return {**declared.arguments, **by_policy}


def target_of(arguments: Mapping[str, Any]) -> tuple[str, str | None] | None:
    """The dead-letter exchange and key in ``arguments``; no key is the message's own."""
    exchange = arguments.get("x-dead-letter-exchange")
    key = arguments.get("x-dead-letter-routing-key")
    if not isinstance(exchange, str):
        return None
    return exchange, key if isinstance(key, str) else None
