"""Exchanges that choose a binding by a hash: ``x-consistent-hash`` and ``x-modulus-hash``.

A consistent-hash binding's key is the destination's weight. Of all destinations a message goes to
the one with the highest ``log(u) / weight``, where ``u`` is a number between 0 and 1 made from the
message's value and the destination's name (weighted rendezvous hashing: Schindelhauer and
Schomaker, "Weighted distributed hash tables", 2005). So shares are exactly in proportion to the
weights, and a destination that comes or goes moves its own share only. It costs a look at each
destination, and no memory for weights, however large.

As in RabbitMQ's plugin a destination counts once: a second binding of it, with another key, has no
effect while the first is there. Unlike there the second takes over when the first goes.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from math import log
from typing import Any, Literal, NamedTuple, TypeAlias

from reference_broker.core.base.field_value import comparable, erlang_term
from reference_broker.core.base.splitmix import BITS, hash_of, mixed
from reference_broker.core.exchange.binding import Binding, BindingIdentity
from reference_broker.core.exchange.matcher import BindingOrder
from reference_broker.core.message.header import CORRELATION_ID, MESSAGE_ID, TIMESTAMP
from reference_broker.core.message.message_headers import MessageHeaders
from reference_broker.errors import ChannelException, ReplyCode

HASH_HEADER = "hash-header"
HASH_PROPERTY = "hash-property"
_PROPERTIES = {
    "correlation_id": CORRELATION_ID,
    "message_id": MESSAGE_ID,
    "timestamp": TIMESTAMP,
}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_SCALE = float(1 << BITS)

_Destination: TypeAlias = tuple[bool, str]


class HashSource(NamedTuple):
    """The part of a message that is hashed: its routing key, one header, or one property."""

    kind: Literal["key", "header", "property"]
    name: str = ""

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> HashSource:
        """As an exchange's arguments say, which :func:`check_hash_arguments` has passed."""
        header, name = arguments.get(HASH_HEADER), arguments.get(HASH_PROPERTY)
        if isinstance(header, str):
            return cls("header", header)
        if isinstance(name, str) and name in _PROPERTIES:
            return cls("property", name)
        return cls("key")

    def value(self, routing_key: str, headers: MessageHeaders) -> bytes:
        """The value to hash. Messages without the header or property all have the same."""
        if self.kind == "key":
            return routing_key.encode(errors="surrogateescape")
        if self.kind == "property":
            return headers.property(_PROPERTIES[self.name]) or b""
        found = headers().get(self.name)
        if isinstance(found, str):
            return found.encode(errors="surrogateescape")
        return found if isinstance(found, bytes) else repr(comparable(found)).encode()


class _Bucket(NamedTuple):
    binding: Binding
    seed: int
    weight: int


class ConsistentHashMatcher:
    """The bindings of one consistent-hash exchange."""

    __slots__ = ("_bindings", "_buckets", "_source", "by_key_alone")

    def __init__(self, source: HashSource) -> None:
        self._source = source
        # Ordered, as the oldest one is asked for again and again while a queue with thousands of
        # them is deleted: a plain dict walks over all that were deleted before it.
        self._bindings: dict[_Destination, OrderedDict[BindingIdentity, Binding]] = {}
        self._buckets: dict[_Destination, _Bucket] = {}
        self.by_key_alone = source.kind == "key"

    def add(self, binding: Binding) -> None:
        """``binding`` must have passed :func:`check_weight`."""
        destination = (binding.destination_is_queue, binding.destination)
        self._bindings.setdefault(destination, OrderedDict())[binding.identity] = binding
        if destination not in self._buckets:
            self._open(destination, binding)

    def remove(self, binding: Binding) -> None:
        destination = (binding.destination_is_queue, binding.destination)
        same_destination = self._bindings[destination]
        del same_destination[binding.identity]
        if self._buckets[destination].binding is not binding:
            return
        del self._buckets[destination]
        if same_destination:
            self._open(destination, next(iter(same_destination.values())))
        else:
            del self._bindings[destination]

    def _open(self, destination: _Destination, binding: Binding) -> None:
        is_queue, name = destination
        seed = hash_of(bytes((is_queue,)) + name.encode(errors="surrogateescape"))
        self._buckets[destination] = _Bucket(binding, seed, int(binding.key))

    def match(
        self, routing_key: str, headers: MessageHeaders, more_keys: Sequence[str] = ()
    ) -> list[Binding]:
        """One binding, the same for the same value; none where nothing is bound. Raises what
        ``headers`` raises."""
        wanted = hash_of(self._source.value(routing_key, headers))
        best = -float("inf")
        found: list[Binding] = []
        for binding, seed, weight in self._buckets.values():
            score = log((mixed(wanted ^ seed) + 1) / _SCALE) / weight
            if score > best or not found:
                best, found = score, [binding]
        return found


class ModulusHashMatcher:
    """The bindings of one ``x-modulus-hash`` exchange (rabbitmq_sharding): the routing key's hash,
    modulo the number of bindings, is the number of the one that a message goes through."""

    __slots__ = ("_bindings",)
    by_key_alone = True

    def __init__(self) -> None:
        self._bindings = BindingOrder()

    def add(self, binding: Binding) -> None:
        self._bindings.add(binding)

    def remove(self, binding: Binding) -> None:
        self._bindings.remove(binding)

    def match(
        self, routing_key: str, headers: MessageHeaders, more_keys: Sequence[str] = ()
    ) -> list[Binding]:
        bindings = self._bindings.all()
        if not bindings:
            return []
        return [bindings[hash_of(routing_key.encode(errors="surrogateescape")) % len(bindings)]]


def check_weight(key: str) -> None:
    """Raises :exc:`ChannelException` 406 for a binding key that is no weight."""
    if _INTEGER.fullmatch(key) is None:
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED,
            f"The binding key must be an integer: {erlang_term(key)}",
        )
    if int(key) < 1:
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED, "The binding key must be greater than 0"
        )


def check_hash_arguments(arguments: Mapping[str, Any]) -> None:
    """Raises :exc:`ChannelException` 406 for arguments that a consistent-hash exchange can't have,
    with the plugin's texts (where it crashes on a header that is no text, with one like them)."""
    if HASH_HEADER in arguments and HASH_PROPERTY in arguments:
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED,
            f"{HASH_HEADER} and {HASH_PROPERTY} are mutually exclusive",
        )
    header, name = arguments.get(HASH_HEADER, ""), arguments.get(HASH_PROPERTY)
    if not isinstance(header, str):
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED, f"Unsupported {HASH_HEADER}: {erlang_term(header)}"
        )
    if HASH_PROPERTY in arguments and not (isinstance(name, str) and name in _PROPERTIES):
        shown = name if isinstance(name, str) else erlang_term(name)
        raise ChannelException(ReplyCode.PRECONDITION_FAILED, f"Unsupported property: {shown}")
