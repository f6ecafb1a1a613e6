"""Bindings that somebody takes away or adds: told with the management API alone. Over AMQP what was
taken away is bound again, untold."""

from __future__ import annotations

from interop.drift.changes.change import Change, nothing
from interop.drift.hand import Hand
from interop.drift.layout import BINDINGS, Binding

_REMOVED = {
    "a topic binding": BINDINGS[0],
    "a binding of exchange to exchange": BINDINGS[1],
    "a direct binding": BINDINGS[2],
    "the binding of a dead-letter exchange": BINDINGS[3],
    "the binding of an exchange with delays": BINDINGS[4],
    "a fanout binding": BINDINGS[5],
    "a binding of an internal exchange": BINDINGS[6],
    "the binding of a delay": BINDINGS[7],
    "a binding by headers": BINDINGS[8],
}
_ADDED = {
    "a binding": Binding("drift.direct", "drift.plain", "stray"),
    "a second key": Binding("drift.x", "drift.work", "b.#"),
    "a binding with arguments": Binding(
        "drift.headers", "drift.by-headers", arguments={"x-match": "any", "kind": "two"}
    ),
    "a binding of exchange to exchange": Binding(
        "drift.direct", "drift.inner", "stray", to_exchange=True
    ),
    "a binding of the broker's own exchange": Binding("amq.topic", "drift.plain", "#"),
    "a binding to a tier": Binding("drift.x", "drift.work.retry.1m", "early"),
    "a binding to a lot": Binding("drift.x", "drift.work.parked", "lost"),
}


def _removal(title: str, binding: Binding) -> Change:
    def do(hand: Hand) -> None:
        hand.unbind(binding)

    return Change(
        f"{title} is taken away",
        do,
        nothing,
        management=(("missing", "binding", binding.name, ""),),
        comes_back=(binding,),
    )


def _addition(title: str, binding: Binding) -> Change:
    def do(hand: Hand) -> None:
        hand.bind(binding)

    def undo(hand: Hand) -> None:
        hand.unbind(binding)

    return Change(
        f"{title} is added", do, undo, management=(("extra", "binding", binding.name, ""),)
    )


def _other_key() -> Change:
    old, new = BINDINGS[0], Binding("drift.x", "drift.work", "c.#")

    def do(hand: Hand) -> None:
        hand.unbind(old)
        hand.bind(new)

    def undo(hand: Hand) -> None:
        hand.unbind(new)

    return Change(
        "a binding has another key",
        do,
        undo,
        management=(("missing", "binding", old.name, ""), ("extra", "binding", new.name, "")),
        comes_back=(old,),
    )


BINDING_CHANGES: tuple[Change, ...] = (
    *(_removal(title, binding) for title, binding in _REMOVED.items()),
    *(_addition(title, binding) for title, binding in _ADDED.items()),
    _other_key(),
)
