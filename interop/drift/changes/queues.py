"""Queues that somebody deletes and declares otherwise. A broker changes no queue in place, so this
is how it is done by hand; it stays so, and is told over AMQP by the field that a 406 names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from interop.drift.changes.change import Change, What
from interop.drift.hand import Hand
from interop.drift.layout import BINDINGS, QUEUES, Queue


def _otherwise(
    title: str,
    name: str,
    *fields: str,
    arguments: dict[str, Any] | None = None,
    over_amqp: bool = True,
    on: tuple[str, ...] = ("reference", "rabbitmq"),
    **properties: Any,
) -> Change:
    """The queue ``name`` with other ``arguments`` (``None`` takes one away) and properties.
    ``fields`` are told, over AMQP the first of them."""
    old = QUEUES[name]
    table = {**old.arguments, **(arguments or {})}
    kept = {key: value for key, value in table.items() if value is not None}
    new: Queue = replace(old, arguments=kept, **properties)
    told: tuple[What, ...] = tuple(("different", "queue", name, field) for field in fields)

    def do(hand: Hand) -> None:
        hand.declare_instead(new)

    def undo(hand: Hand) -> None:
        if new.exclusive:
            hand.reconnect()
        else:
            hand.delete(new)

    hanging = tuple(binding for binding in BINDINGS if binding.destination == name)
    return Change(
        f"{title}",
        do,
        undo,
        amqp=told[:1] if over_amqp else (),
        management=told,
        touches=(name, *(binding.name for binding in hanging)),
        on=on,
    )


_TTL, _LENGTH, _BYTES = "x-message-ttl", "x-max-length", "x-max-length-bytes"
_DLX, _DLK, _TYPE = "x-dead-letter-exchange", "x-dead-letter-routing-key", "x-queue-type"

QUEUE_CHANGES: tuple[Change, ...] = (
    _otherwise("another TTL", "drift.ttl", _TTL, arguments={_TTL: 5_000}),
    _otherwise("no TTL any more", "drift.ttl", _TTL, arguments={_TTL: None}),
    _otherwise("a TTL", "drift.plain", _TTL, arguments={_TTL: 60_000}),
    _otherwise("another length limit", "drift.full", _LENGTH, arguments={_LENGTH: 11}),
    _otherwise("no length limit any more", "drift.full", _LENGTH, arguments={_LENGTH: None}),
    _otherwise("a length limit", "drift.plain", _LENGTH, arguments={_LENGTH: 1_000}),
    _otherwise("a limit of octets", "drift.plain", _BYTES, arguments={_BYTES: 1_000_000}),
    _otherwise(
        "another overflow", "drift.full", "x-overflow", arguments={"x-overflow": "drop-head"}
    ),
    _otherwise("another dead-letter exchange", "drift.dead", _DLX, arguments={_DLX: "drift.x"}),
    _otherwise("another dead-letter key", "drift.dead", _DLK, arguments={_DLK: "gone"}),
    _otherwise(
        "no dead-letter exchange any more",
        "drift.dead",
        _DLX,
        _DLK,
        arguments={_DLX: None, _DLK: None},
    ),
    _otherwise("a dead-letter exchange", "drift.plain", _DLX, arguments={_DLX: "drift.x"}),
    _otherwise("an expiry", "drift.plain", "x-expires", arguments={"x-expires": 3_600_000}),
    _otherwise(
        "other priorities", "drift.ranked", "x-max-priority", arguments={"x-max-priority": 9}
    ),
    _otherwise(
        "no priorities any more",
        "drift.ranked",
        "x-max-priority",
        arguments={"x-max-priority": None},
    ),
    _otherwise("transient", "drift.plain", "durable", durable=False),
    _otherwise("auto-delete", "drift.plain", "auto_delete", auto_delete=True),
    _otherwise("exclusive to somebody", "drift.plain", "exclusive", exclusive=True),
    _otherwise("classic to quorum", "drift.plain", _TYPE, arguments={_TYPE: "quorum"}),
    _otherwise("quorum to classic", "drift.quorum", _TYPE, arguments={_TYPE: "classic"}),
    _otherwise(
        "a single active consumer",
        "drift.plain",
        "x-single-active-consumer",
        arguments={"x-single-active-consumer": True},
    ),
    _otherwise(
        "an argument of somebody's own",
        "drift.plain",
        "x-mine",
        arguments={"x-mine": "yes"},
        over_amqp=False,
    ),
    _otherwise("a tier with another TTL", "drift.work.retry.1m", _TTL, arguments={_TTL: 1_000}),
    _otherwise(
        "a tier that leads elsewhere",
        "drift.work.retry.1m",
        _DLK,
        arguments={_DLK: "drift.plain"},
    ),
    _otherwise("a lot with a limit", "drift.work.parked", _LENGTH, arguments={_LENGTH: 5}),
    _otherwise("a delay with another time", "drift.later.delay.5s", _TTL, arguments={_TTL: 1}),
    _otherwise("a bound queue with a TTL", "drift.work", _TTL, arguments={_TTL: 60_000}),
)
