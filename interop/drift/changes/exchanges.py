"""Exchanges that somebody deletes and declares otherwise: as for queues."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from interop.drift.changes.change import Change
from interop.drift.hand import Hand
from interop.drift.layout import BINDINGS, EXCHANGES, Exchange

_ALTERNATE = "alternate-exchange"


def _otherwise(title: str, name: str, field: str, **properties: Any) -> Change:
    new: Exchange = replace(EXCHANGES[name], **properties)
    told = (("different", "exchange", name, field),)

    def do(hand: Hand) -> None:
        hand.declare_instead(new)

    def undo(hand: Hand) -> None:
        hand.delete(new)

    hanging = tuple(
        binding for binding in BINDINGS if name in (binding.source, binding.destination)
    )
    return Change(
        title,
        do,
        undo,
        amqp=told,
        management=told,
        touches=(name, *(binding.name for binding in hanging)),
    )


EXCHANGE_CHANGES: tuple[Change, ...] = (
    _otherwise("another type", "drift.headers", "type", type="direct", arguments={}),
    _otherwise("fanout to topic", "drift.alternate", "type", type="topic"),
    _otherwise("a transient exchange", "drift.direct", "durable", durable=False),
    _otherwise("an auto-delete exchange", "drift.alternate", "auto_delete", auto_delete=True),
    _otherwise("an internal exchange", "drift.alternate", "internal", internal=True),
    _otherwise("internal no more", "drift.internal", "internal", internal=False),
    _otherwise(
        "another alternate exchange",
        "drift.x",
        _ALTERNATE,
        arguments={_ALTERNATE: "drift.inner"},
    ),
    _otherwise("no alternate exchange any more", "drift.x", _ALTERNATE, arguments={}),
    _otherwise(
        "an alternate exchange",
        "drift.inner",
        _ALTERNATE,
        arguments={_ALTERNATE: "drift.alternate"},
    ),
    _otherwise(
        "the exchange of a delay, of another type", "drift.later.delay.5s", "type", type="direct"
    ),
)
