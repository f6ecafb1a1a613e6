"""The definitions that a data folder brings into a cluster: a single node's, or those that a broker
begins with.

What the cluster has already stays as it is there. Users, permissions and virtual hosts of one name
are one; so are bindings, and exchanges and policies that are the same. Another exchange of that
name can't be brought, nor a queue: its messages are at another home.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import unquote

from reference_broker.cluster.definitions.shared_value import VALUE_BYTES_MAX, decode
from reference_broker.cluster.metadata.keys import DEFINITIONS, rank_of
from reference_broker.core.access import access_definition as access
from reference_broker.core.exchange.definitions import (
    QueueDefinition,
    decode_binding,
    decode_exchange,
    decode_queue,
    exchange_key,
    queue_key,
)
from reference_broker.core.exchange.exchange import Exchange, predeclared_exchanges
from reference_broker.core.journal.definition_keys import BINDING, EXCHANGE, QUEUE
from reference_broker.core.journal.definition_store import Change
from reference_broker.core.policy.global_parameters import GLOBAL_PARAMETER
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.errors import ClusterRefused

_POLICIES = tuple(map(str, PolicyKind))
_SHARED = (
    access.SET_UP,
    access.VHOST,
    access.USER,
    access.PERMISSION,
    access.TOPIC_PERMISSION,
    GLOBAL_PARAMETER,
    *_POLICIES,
    EXCHANGE,
    QUEUE,
    BINDING,
)
_PREDECLARED = frozenset(exchange.name for exchange in predeclared_exchanges())
_NUMBER_BYTES = 9
"""Of a policy: the version and its number, which is each node's."""

SET_UP_KEY = access.key_of(access.SET_UP, "once")


def shared_part(definitions: Mapping[str, bytes]) -> dict[str, bytes]:
    """Those of a folder's definitions that the nodes of a cluster share; the others, as counts of
    deliveries, go with messages."""
    return {key: value for key, value in definitions.items() if _kind(key) in _SHARED}


def changes_of(definitions: Mapping[str, bytes]) -> list[Change]:
    """The changes that define all of them, each behind those of which it speaks; without
    :data:`SET_UP_KEY`, and without what speaks of something that is gone, as a crash may have left
    it. Raises :exc:`Corrupt`, and :exc:`ClusterRefused` for one that is too large."""
    whole = {**_missing_vhosts(definitions), **definitions}
    whole.pop(SET_UP_KEY, None)
    changes = []
    for key, value in sorted(whole.items(), key=lambda each: _place(*each)):
        spoken_of = _spoken_of(key, value)
        if len(value) > VALUE_BYTES_MAX:
            raise ClusterRefused(
                f"the data folder can't be brought to a cluster: {_named(key)} is a definition of"
                f" {len(value)} octets, and a cluster takes {VALUE_BYTES_MAX}"
            )
        if all(each in whole or _is_predeclared(each) for each in spoken_of):
            changes.append(Change(key, value, spoken_of))
    return changes


def _is_predeclared(key: str) -> bool:
    return _kind(key) == EXCHANGE and key.rpartition("/")[2] in _PREDECLARED


def _missing_vhosts(definitions: Mapping[str, bytes]) -> dict[str, bytes]:
    """The virtual hosts that an early version did not define, and had objects in."""
    names = (unquote(key.split("/")[1]) for key in definitions if _kind(key) in (EXCHANGE, QUEUE))
    plain = access.encode_vhost(access.decode_vhost({}))
    return {access.key_of(access.VHOST, name): plain for name in dict.fromkeys(names)}


def _place(key: str, value: bytes) -> tuple[int, int, str]:
    kind, number = _kind(key), 0
    if kind == QUEUE:
        number = decode_queue(value).id
    elif kind == BINDING:
        number = decode_binding(value).number
    return rank_of(DEFINITIONS + key), number, key


def _spoken_of(key: str, value: bytes) -> tuple[str, ...]:
    kind, _, rest = key.partition("/")
    if kind in (access.PERMISSION, access.TOPIC_PERMISSION):
        vhost, user = rest.split("/")[:2]
        return f"{access.USER}/{user}", f"{access.VHOST}/{vhost}"
    if kind in (access.VHOST, access.USER, GLOBAL_PARAMETER):
        return ()
    vhost = rest.partition("/")[0]
    vhost_key = f"{access.VHOST}/{vhost}"
    if kind != BINDING:
        return (vhost_key,)
    binding = decode_binding(value)
    end_key = queue_key if binding.destination_is_queue else exchange_key
    name = unquote(vhost)
    source = exchange_key(name, binding.source)
    return vhost_key, source, end_key(name, binding.destination)


def _kind(key: str) -> str:
    return key.partition("/")[0]


class BroughtDefinitions:
    """The ``definitions`` of a folder beside those of a cluster; ``has_messages`` says which of its
    queues have some, by their ids. See :class:`~.membership.joining.Brought`."""

    def __init__(
        self, definitions: Mapping[str, bytes], has_messages: Callable[[int], bool]
    ) -> None:
        self._definitions = definitions
        self._has_messages = has_messages

    def conflict(self, key: str, value: bytes) -> str | None:
        """Raises :exc:`Corrupt`."""
        own = self._definitions.get(key)
        kind = _kind(key)
        if own is None or kind not in (*_POLICIES, GLOBAL_PARAMETER, EXCHANGE, QUEUE):
            return None
        body = decode(value).body
        named = _named(key)
        if kind == EXCHANGE:
            if _properties(decode_exchange(own)) == _properties(decode_exchange(body)):
                return None
        elif kind == QUEUE:
            return self._queue_conflict(named, decode_queue(own), decode_queue(body))
        elif own[_number_bytes(kind) :] == body[_number_bytes(kind) :]:
            return None
        return f"{named} is another one there"

    def _queue_conflict(
        self, named: str, own: QueueDefinition, there: QueueDefinition
    ) -> str | None:
        if own.id == there.id:
            return None
        if own._replace(id=there.id) != there:
            return f"{named} is another one there"
        if self._has_messages(own.id):
            return f"{named} is there already, and the one in the folder has messages"
        return None


def _number_bytes(kind: str) -> int:
    return _NUMBER_BYTES if kind in _POLICIES else 0


def _properties(exchange: Exchange) -> Sequence[object]:
    return (
        exchange.type,
        exchange.durable,
        exchange.auto_delete,
        exchange.internal,
        exchange.arguments,
    )


def _named(key: str) -> str:
    kind, _, rest = key.partition("/")
    vhost, _, name = rest.partition("/")
    kind = kind.replace("_", " ")
    return f"{kind} {name!r} in vhost {unquote(vhost)!r}" if name else f"{kind} {vhost!r}"
