"""The shape of a broker's definitions: everything that is defined, as comparable values; of a
broker itself, and of rows of etcd, found out once more and all at once.

The rows are the reference: a definition counts while everything that it speaks of counts, and is
the very object that it spoke of.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import unquote

from reference_broker.cluster.definitions.shared_value import SharedValue, decode
from reference_broker.cluster.metadata.keys import DEFINITIONS
from reference_broker.core.access import access_definition
from reference_broker.core.broker import Broker
from reference_broker.core.exchange.definitions import (
    decode_binding,
    decode_exchange,
    decode_queue,
)
from reference_broker.core.exchange.exchange import predeclared_exchanges
from reference_broker.core.journal.definition_keys import BINDING, EXCHANGE, QUEUE
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_definition import decode_policy
from reference_broker.core.vhost.vhost import VHost
from reference_broker.errors import Corrupt

Shape: TypeAlias = frozenset[tuple[object, ...]]
Rows: TypeAlias = Mapping[str, tuple[bytes, int]]
"""Values and revisions by key."""

_PREDECLARED = frozenset(exchange.name for exchange in predeclared_exchanges())


def shape_of(broker: Broker) -> Shape:
    """Of what the broker has."""
    found: set[tuple[object, ...]] = set()
    for vhost in broker.vhosts.values():
        found.add((access_definition.VHOST, vhost.name, vhost.info.description))
        found |= _in_vhost(vhost)
    for user in broker.users.all():
        found.add((access_definition.USER, user.name, user.tags))
    for vhost_name, user_name, permission in broker.access.permissions():
        found.add((access_definition.PERMISSION, vhost_name, user_name, permission.texts()))
    return frozenset(found)


def _in_vhost(vhost: VHost) -> set[tuple[object, ...]]:
    found: set[tuple[object, ...]] = set()
    for exchange in vhost.exchanges.values():
        if exchange.name not in _PREDECLARED:
            kinds = (str(exchange.type), exchange.durable, exchange.auto_delete)
            found.add((EXCHANGE, vhost.name, exchange.name, *kinds))
    for queue in vhost.queues.values():
        exclusive = queue.owner is not None
        found.add((QUEUE, vhost.name, queue.name, queue.id, queue.durable, exclusive))
    for binding in vhost.bindings():
        if binding.source:
            found.add((BINDING, vhost.name, binding.identity, binding.number))
    for kind in PolicyKind:
        for policy in vhost.policies.of(kind):
            found.add((str(kind), vhost.name, policy.name, policy.pattern.text))
    return found


def shape_in(rows: Rows) -> Shape:
    """Of what the rows amount to."""
    counting = counting_in(rows).items()
    return frozenset(entry_of(key, value.body, made_at) for key, (value, made_at) in counting)


def counting_in(rows: Rows) -> dict[str, tuple[SharedValue, int]]:
    """The definitions that count, and the revisions that made their objects."""
    read: dict[str, tuple[SharedValue, int]] = {}
    for key, (octets, revision) in rows.items():
        try:
            value = decode(octets)
        except Corrupt:
            continue
        read[key.removeprefix(DEFINITIONS)] = (value, value.made_at or revision)
    while gone := [key for key, (value, _) in read.items() if not _counts(value, read)]:
        for key in gone:
            del read[key]
    return read


def _counts(value: SharedValue, read: Mapping[str, tuple[SharedValue, int]]) -> bool:
    return all((read[key][1] if key in read else 0) == at for key, at in value.speaks_of)


@lru_cache(maxsize=4_096)
def entry_of(key: str, body: bytes, made_at: int) -> tuple[object, ...]:
    """The object of a definition, as it is in a shape."""
    kind, *names = key.split("/")
    names = [unquote(name) for name in names]
    if kind == access_definition.VHOST:
        info = access_definition.decode_vhost(access_definition.fields_of(kind, body))
        return kind, names[0], info.description
    if kind == access_definition.USER:
        user = access_definition.decode_user(names[0], access_definition.fields_of(kind, body))
        return kind, names[0], user.tags
    if kind == access_definition.PERMISSION:
        fields = access_definition.fields_of(kind, body)
        return kind, *names, access_definition.decode_permission(fields).texts()
    if kind == EXCHANGE:
        exchange = decode_exchange(body)
        kinds = (str(exchange.type), exchange.durable, exchange.auto_delete)
        return kind, names[0], exchange.name, *kinds
    if kind == QUEUE:
        queue = decode_queue(body)
        return kind, names[0], queue.name, queue.id, queue.durable, queue.exclusive
    if kind == BINDING:
        return kind, names[0], decode_binding(body).identity, made_at
    policy = decode_policy(PolicyKind(kind), body)
    return kind, names[0], policy.name, policy.pattern.text


def leftovers_in(rows: Rows, runs: Mapping[str, int]) -> list[str]:
    """The keys that ought to be removed: of what doesn't count, of what goes with a node that has
    another of the ``runs``, and of auto-delete exchanges that had bindings and have none."""
    shape, left = shape_in(rows), []
    bound = {(entry[1], entry[2][0]) for entry in shape if entry[0] == BINDING}  # type: ignore[index]
    for key, (octets, revision) in rows.items():
        try:
            value = decode(octets)
        except Corrupt:
            continue
        name = key.removeprefix(DEFINITIONS)
        entry = entry_of(name, value.body, value.made_at or revision)
        is_orphan = value.run and value.run != runs[value.home]
        was_bound = entry[0] == EXCHANGE and entry[5] and value.made_at
        if entry not in shape or is_orphan or (was_bound and entry[1:3] not in bound):
            left.append(name)
    return left
