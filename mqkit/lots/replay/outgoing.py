"""A parked message as it is sent back to work. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from mqkit.lots.archive.record import Record
from mqkit.lots.replay.edits import Change, Edit, Unfit, edited
from mqkit.message import Delivery, Message, Properties
from mqkit.retry.headers import to_replay
from mqkit.retry.known_lots import KnownLots
from mqkit.retry.parked import ParkedMessage
from mqkit.transport.native.exact import ExactProperties, exactly
from mqkit.wire import EncodeError, WireError


@dataclass(frozen=True, slots=True)
class Route:
    """The target of replayed messages: the queue ``to``, their ``original`` exchange and routing
    key, or for each the queue that it failed on."""

    to: str | None = None
    original: bool = False

    def fixed(self, lot: str, known: KnownLots) -> str | None:
        """The one queue that all go to, if it is one."""
        return None if self.original else self.to or known.owner_of(lot)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message, and what was changed of it."""

    message: Message
    changes: tuple[Change, ...] = ()


def outgoing(
    delivery: Delivery,
    lot: str,
    route: Route,
    known: KnownLots,
    edits: Sequence[Edit],
    now: datetime,
) -> Outgoing:
    """``delivery``, which lies in ``lot``, as it is sent; mandatory. Raises
    :exc:`~mqkit.lots.replay.edits.Unfit` for one that can't be, and says why."""
    parked = ParkedMessage.of(delivery, lot, known)
    target = route.fixed(lot, known) or parked.queue
    exchange, key = "", target
    if route.original:
        exchange, key = parked.original_exchange, parked.original_routing_key
        if not exchange and not key:
            raise Unfit("nobody recorded the exchange that it came from")
    elif not target or target == lot:
        raise Unfit("nobody recorded the queue that it failed on (--to says where to)")
    again = to_replay(_plain(delivery), target)
    body, headers, changes = edited(delivery.body, dict(again.properties.headers), edits, now)
    properties = _properties(delivery, headers)
    return Outgoing(Message(exchange, key, body, properties, mandatory=True), changes)


def going_back(delivery: Delivery, queue: str) -> Message:
    """``delivery`` as it goes back to ``queue``: it starts with all its attempts again, and all
    else of it is as it was. Raises :exc:`~mqkit.lots.replay.edits.Unfit`."""
    again = to_replay(_plain(delivery), queue)
    properties = _properties(delivery, dict(again.properties.headers))
    return Message("", queue, delivery.body, properties, mandatory=True)


def _properties(delivery: Delivery, headers: dict[str, Any]) -> ExactProperties:
    try:
        return exactly(
            Record.of(delivery).properties, headers=headers, expiration=None, user_id=None
        )
    except (WireError, EncodeError) as error:
        raise Unfit(str(error)) from None


def _plain(delivery: Delivery) -> Delivery:
    """With properties that may be replaced field by field; the headers keep their types."""
    properties = Properties(headers=delivery.headers, user_id=delivery.properties.user_id)
    return replace(delivery, properties=properties)
