"""Exchanges that choose a binding by a hash: ``x-consistent-hash`` and ``x-modulus-hash``.

A consistent-hash binding's key is the destination's weight. Messages and destinations have places
on a circle, made from the message's value and the destination's name. A message looks along the
circle from its place, further and further, and for a destination of twice the weight twice as far;
each destination in sight is drawn at some moment, again made from value and name, and the message
goes to the first that is drawn. The chances of being in sight and of being drawn are such that
their product is in proportion to the weight at every moment, and so are the shares. A destination
that comes or goes moves its own share only, and history does not count.

It costs a look at the destinations that are in sight by then: about ``IN_SIGHT``, however many
there are, and however large their weights. Up to that number it is weighted rendezvous hashing
(Schindelhauer and Schomaker, "Weighted distributed hash tables", 2005), with exact shares. Among
more, neighbours on the circle are in sight together, and take a little from each other: shares are
3 % off (a standard deviation), less than chance makes of ten messages or of a thousand.

As in RabbitMQ's plugin a destination counts once: a second binding of it, with another key, has no
effect while the first is there. Unlike there the second takes over when the first goes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import chain
from math import exp, inf, ldexp, log
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
_MASK = (1 << BITS) - 1
_PLACES = 0x5BD1E995973DAB57
"""Makes of a message's value another number, for its place."""

IN_SIGHT = 256
"""Destinations that a message looks at, in the mean: half as many would cost little less, and have
shares 4.5 % off. Another number sends messages elsewhere."""

_SIGHT_MAX = BITS * log(2) / IN_SIGHT
"""The most that the time in which only a part of the circle is in sight can add up to."""

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
    """A destination: its place on the circle, and its weight as ``fraction * 2**scale``."""

    binding: Binding
    place: int
    scale: int
    fraction: float


class _Circle:
    """The destinations whose weights have one scale, by their places."""

    __slots__ = ("buckets", "places")

    def __init__(self) -> None:
        self.places: list[int] = []
        self.buckets: list[_Bucket] = []

    def add(self, bucket: _Bucket) -> None:
        at = bisect_left(self.places, bucket.place)
        self.places.insert(at, bucket.place)
        self.buckets.insert(at, bucket)

    def remove(self, bucket: _Bucket) -> None:
        at = bisect_left(self.places, bucket.place)
        while self.buckets[at] is not bucket:  # two may have one place
            at += 1
        del self.places[at], self.buckets[at]


class ConsistentHashMatcher:
    """The bindings of one consistent-hash exchange."""

    __slots__ = ("_bindings", "_buckets", "_circles", "_source", "by_key_alone", "looked")

    def __init__(self, source: HashSource) -> None:
        self._source = source
        # Ordered, as the oldest one is asked for again and again while a queue with thousands of
        # them is deleted: a plain dict walks over all that were deleted before it.
        self._bindings: dict[_Destination, OrderedDict[BindingIdentity, Binding]] = {}
        self._buckets: dict[_Destination, _Bucket] = {}
        self._circles: dict[int, _Circle] = {}
        """By the scale of their weights, highest first."""
        self.looked = 0
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
        bucket = self._buckets[destination]
        if bucket.binding is not binding:
            return
        del self._buckets[destination]
        circle = self._circles[bucket.scale]
        circle.remove(bucket)
        if not circle.buckets:
            del self._circles[bucket.scale]
        if same_destination:
            self._open(destination, next(iter(same_destination.values())))
        else:
            del self._bindings[destination]

    def _open(self, destination: _Destination, binding: Binding) -> None:
        is_queue, name = destination
        place = hash_of(bytes((is_queue,)) + name.encode(errors="surrogateescape"))
        weight = int(binding.key)
        scale = weight.bit_length() - 1
        self._buckets[destination] = bucket = _Bucket(binding, place, scale, weight / (1 << scale))
        circle = self._circles.get(scale)
        if circle is None:
            circle = self._circles[scale] = _Circle()
            self._circles = dict(sorted(self._circles.items(), reverse=True))
        circle.add(bucket)

    def match(
        self, routing_key: str, headers: MessageHeaders, more_keys: Sequence[str] = ()
    ) -> list[Binding]:
        """One binding, the same for the same value; none where nothing is bound. Raises what
        ``headers`` raises."""
        value = hash_of(self._source.value(routing_key, headers))
        place = mixed(value ^ _PLACES)
        best = inf
        found: list[Binding] = []
        self.looked = 0
        for scale, circle in self._circles.items():
            before = ldexp(best, scale)
            if before * IN_SIGHT * _SCALE < 1:
                break  # nothing of this weight, or of less, can be in sight yet
            before, nearest = self._first_drawn(circle, value, place, before)
            best = ldexp(before, -scale)
            if nearest is not None:
                found = [nearest.binding]
        return found

    def _first_drawn(
        self, circle: _Circle, value: int, place: int, best: float
    ) -> tuple[float, _Bucket | None]:
        """The destination of ``circle`` that is drawn first, and when, if that is before ``best``;
        else ``best`` and none.

        At the moment t, in units of the circle's scale, a message sees the part t * IN_SIGHT of the
        circle, up to the whole. What is in sight at distance d (of 1) is drawn at a rate of
        fraction / (t * IN_SIGHT) until the whole circle is in sight, and of its fraction from then
        on, since nothing comes into sight any more. So it is drawn when that has added up to a
        number with the exponential distribution.
        """
        found: _Bucket | None = None
        places = circle.places
        start = bisect_left(places, place)
        in_sight, least = _sight(best)
        looked = 0
        for at in chain(range(start, len(places)), range(start)):
            seed = places[at]
            ahead = seed - place & _MASK
            if ahead >= in_sight:
                break
            looked += 1
            number = mixed(value ^ seed)
            if number < least:
                continue
            bucket = circle.buckets[at]
            distance = (ahead + 1) / _SCALE
            drawn = -log((number + 1) / _SCALE) / bucket.fraction
            in_part = -log(distance) / IN_SIGHT
            if drawn >= in_part:
                moment = drawn - in_part + 1 / IN_SIGHT
            else:
                moment = distance * exp(drawn * IN_SIGHT) / IN_SIGHT
            if moment < best:
                best, found = moment, bucket
                in_sight, least = _sight(best)
        self.looked += looked
        return best, found


def _sight(best: float) -> tuple[float, float]:
    """For a destination that is drawn before ``best``: the bound on its place, counted from that of
    the message, and the least number that its draw is made of. Both are cheaper to compare than the
    moment is to work out."""
    return best * IN_SIGHT * _SCALE, exp(-2 * (best + _SIGHT_MAX)) * _SCALE


class ModulusHashMatcher:
    """The bindings of one ``x-modulus-hash`` exchange (rabbitmq_sharding): the routing key's hash,
    modulo the number of bindings, is the number of the one that a message goes through."""

    __slots__ = ("_bindings",)
    by_key_alone = True
    looked = 0

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
