"""The properties of many messages, as they are on the wire, each kind decoded once. Pure.

Messages of one publisher differ in their id, and mostly in nothing else of their properties:

    +-------+----------------------+---+------------+-----------------------+
    | flags | properties before it | n | message id | properties behind it  |
    +-------+----------------------+---+------------+-----------------------+
     <------- the same ----------->      n octets    <----- the same ------>

Octets that begin and end as those of a message that was decoded, with an id between that fills the
rest, say the same but for the id. Whatever begins or ends otherwise is decoded itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

from mqkit.transport.native.exact import ExactProperties, from_octets, message_id_place


@dataclass(slots=True)
class Contents:
    """The properties of messages, by their kinds, and the ids, which no kind has."""

    kinds: list[ExactProperties] = field(default_factory=list)
    """One for each kind. The id in it is that of the first message alone: read it elsewhere."""
    kind_of: list[int] = field(default_factory=list)
    """For each message, the position of its kind."""
    message_ids: list[bytes | None] = field(default_factory=list)
    """For each message, the octets of its id; ``None`` where it has none, or one that can't be
    read."""


@dataclass(slots=True)
class _Kind:
    """The octets of a kind around the place of the id."""

    position: int
    before: bytes
    after: bytes
    has_id: bool


def read(properties: Iterable[bytes]) -> Contents:
    """Decode the flags and property lists of messages
    (:attr:`~mqkit.transport.native.delivery_run.DeliveryRun.properties`)."""
    found = Contents()
    known: dict[tuple[bytes, bytes, bool], _Kind] = {}
    kind_of, message_ids = found.kind_of.append, found.message_ids.append
    # As of a kind that no octets are long enough for.
    position, before, after, has_id, at, behind, least = -1, b"", b"", True, 0, 0, sys.maxsize
    for octets in properties:
        size = len(octets)
        if not (
            size >= least
            and octets[at] == size - least
            and octets.startswith(before)
            and octets.endswith(after)
            if has_id
            else octets == before
        ):
            kind = _kind(octets, found.kinds, known)
            position, before, after, has_id = kind.position, kind.before, kind.after, kind.has_id
            at, behind = len(before), len(after)
            least = at + 1 + behind
        kind_of(position)
        message_ids(octets[at + 1 : size - behind] if has_id else None)
    return found


def _kind(
    octets: bytes, kinds: list[ExactProperties], known: dict[tuple[bytes, bytes, bool], _Kind]
) -> _Kind:
    properties = from_octets(octets)
    before, after, has_id = octets, b"", False
    if properties.message_id is not None:
        place = message_id_place(octets)
        assert place is not None
        before, after, has_id = octets[: place.start], octets[place.stop :], True
    kind = known.get((before, after, has_id))
    if kind is None:
        kind = _Kind(len(kinds), before, after, has_id)
        known[before, after, has_id] = kind
        kinds.append(properties)
    return kind
