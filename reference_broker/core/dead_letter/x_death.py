"""The history that a dead letter carries in its headers (rabbitmq.com/docs/dlx, "Effects").

``x-death`` is an array of tables, newest first, one per (queue, reason) with a count::

    count long | reason, queue longstr | time timestamp | exchange longstr
    routing-keys array of longstr
    original-expiration longstr, when the message had an expiration, which it loses

The order is RabbitMQ's too: there are programs that compare the table as it is printed.

``x-first-death-{queue,reason,exchange}`` are written at the first death, and
``x-last-death-{queue,reason,exchange}`` at each (RabbitMQ 4). When the same (queue, reason) comes
again, its table moves to the front and counts on, and keeps the time and keys of its first time.

A client may publish a dead letter again with its headers; then this broker counts on, as RabbitMQ
does up to 3.12. (Later ones start over.) An ``x-death`` without ``x-last-death-queue`` beside it
never was a dead letter's, and is replaced.
"""

from __future__ import annotations

from typing import Any

from mqkit.wire import Typed, encode_table
from reference_broker.core.message.copy_keys import cc_keys
from reference_broker.core.message.header import (
    EXPIRATION,
    HEADERS,
    join_properties,
    split_properties,
)
from reference_broker.core.message.header_table import readable_table
from reference_broker.core.queue.death import DeathReason

X_DEATH = "x-death"
_MARK = X_DEATH.encode()
_LAST_DEATH = "x-last-death-queue"


def with_x_death(
    header: bytes,
    *,
    queue: str,
    reason: DeathReason,
    wall_ms: int,
    exchange: bytes,
    routing_key: bytes,
    keep_cc: bool,
) -> bytes:
    """The header of a dead letter.

    ``exchange`` and ``routing_key`` are those of the publish that brought the message here; keys
    of its CC header are recorded too, and the CC header itself is left out unless ``keep_cc``.
    Every other property, and every other header, keeps its bytes. A header table that can't be
    read is replaced: a message must not stay in a queue for ever because of it.
    """
    properties = split_properties(header)
    headers = readable_table(properties.get(HEADERS))
    keys = [routing_key, *cc_keys(headers)]
    if not keep_cc:
        headers.pop("CC", None)
    names = names_of(queue, reason, exchange)
    death: dict[str, Any] = {
        "count": Typed("l", 1),
        "reason": names["reason"],
        "queue": names["queue"],
        "time": Typed("T", wall_ms // 1000),
        "exchange": names["exchange"],
        "routing-keys": [longstr(key) for key in keys],
    }
    expiration = properties.pop(EXPIRATION, None)
    if expiration is not None:
        death["original-expiration"] = longstr(expiration[1:])

    earlier = headers.pop(X_DEATH, None)
    if not isinstance(earlier, list) or _LAST_DEATH not in headers:
        earlier = []  # nothing that a broker wrote: RabbitMQ starts over since 3.13
    first = not earlier
    headers[X_DEATH] = _counted(death, earlier)
    for name, value in names.items():
        if first:
            headers[f"x-first-death-{name}"] = value
        headers[f"x-last-death-{name}"] = value

    properties[HEADERS] = encode_table(headers)
    return join_properties(header, properties)


def cc_keys_of(header: bytes) -> list[bytes]:
    """:func:`cc_keys`, of a content header."""
    return cc_keys(readable_table(split_properties(header).get(HEADERS)))


def has_died(header: bytes) -> bool:
    """Does a content header say that the message was dead-lettered before?"""
    return _MARK in header and X_DEATH in readable_table(split_properties(header).get(HEADERS))


def _counted(death: dict[str, Any], earlier: list[Any]) -> list[Any]:
    """``earlier`` with ``death`` in front: as new, or as the one more of its (queue, reason)."""
    others = []
    for table in earlier:
        if (
            isinstance(table, dict)
            and table.get("queue") == death["queue"]
            and table.get("reason") == death["reason"]
        ):
            death = counted_on(table)
        else:
            others.append(table)
    return [death, *others]


def counted_on(table: dict[str, Any]) -> dict[str, Any]:
    """The ``table`` of a (queue, reason) that comes again."""
    return table | {"count": Typed("l", _count(table.get("count")) + 1)}


def _count(value: Any) -> int:
    plain = value.value if isinstance(value, Typed) else value
    return plain if isinstance(plain, int) else 0


def names_of(queue: str, reason: DeathReason, exchange: bytes) -> dict[str, Any]:
    """Queue, reason and exchange of a death, for ``x-first-death-`` and ``x-last-death-`` too."""
    return {"queue": queue, "reason": reason.value, "exchange": longstr(exchange)}


def longstr(octets: bytes) -> Any:
    """Bytes as a value that is encoded as a longstr, whether they are text or not."""
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return Typed("S", octets)
