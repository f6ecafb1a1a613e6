"""Definitions as clients make them: an exchange, a queue, a binding, a policy, by its key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from mqkit.wire.methods import ExchangeDeclare, Method, QueueBind, QueueDeclare

Key = tuple[str, ...]
"""The kind of an object, and its name. A binding's name is all that makes it the same again: its
source, its destination, its key, its arguments."""


class Definition(NamedTuple):
    """An object as it was defined. A binding lasts as long as its ``ends`` do: it is durable when
    it is and both of them are."""

    key: Key
    value: tuple[object, ...] = ()
    """All that would be refused if it were declared in another way."""
    durable: bool = True
    ends: tuple[Key, ...] = ()


Definitions = Mapping[Key, Definition]


@dataclass(frozen=True, slots=True, eq=False)
class Declaration:
    """One request of a client that something be there."""

    definition: Definition


def queue_key(name: str) -> Key:
    return "queue", name


def exchange_key(name: str) -> Key:
    return "exchange", name


def exchange(
    name: str, type: str, arguments: Mapping[str, Any], *, durable: bool, auto_delete: bool = False
) -> Definition:
    return Definition(exchange_key(name), (type, auto_delete, plain(arguments)), durable)


def queue(
    name: str, arguments: Mapping[str, Any], *, durable: bool, auto_delete: bool = False
) -> Definition:
    return Definition(queue_key(name), (auto_delete, plain(arguments)), durable)


def binding(
    source: str, destination: Key, routing_key: str, arguments: Mapping[str, Any]
) -> Definition:
    """A binding that is there as long as its ends are."""
    key = ("binding", source, *destination, routing_key, repr(plain(arguments)))
    return Definition(key, ends=(exchange_key(source), destination))


def policy(name: str, pattern: str, definition: Mapping[str, Any]) -> Definition:
    return Definition(("policy", name), (pattern, plain(definition)))


def definition_of(method: Method) -> Definition | None:
    """The definition that a client's request asks for; ``None`` where it declares nothing."""
    if isinstance(method, QueueDeclare) and not method.passive:
        return queue(
            method.queue,
            method.arguments,
            durable=method.durable,
            auto_delete=method.auto_delete,
        )
    if isinstance(method, ExchangeDeclare) and not method.passive:
        return exchange(
            method.exchange,
            method.type,
            method.arguments,
            durable=method.durable,
            auto_delete=method.auto_delete,
        )
    if isinstance(method, QueueBind):
        destination = queue_key(method.queue)
        return binding(method.exchange, destination, method.routing_key, method.arguments)
    return None


def plain(arguments: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Arguments that can be compared, whatever their order."""
    return tuple(sorted((name, repr(value)) for name, value in arguments.items()))
