"""The promises of outbox and inbox, judged by two tables. Pure; shares no code with mqkit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

FAULTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Done:
    """An order, or its effect: the ``number``-th of ``customer``."""

    order_id: int
    customer: int
    number: int


def faults(orders: Sequence[Done], effects: Sequence[Done]) -> list[str]:
    """Everything that breaks a promise; empty if all are kept. ``effects`` are in the order in
    which they were done."""
    return [*_missing(orders, effects), *_twice(effects), *_out_of_order(effects)]


def duplicates(effects: Sequence[Done]) -> int:
    """The effects that were done once more than they should have been."""
    return len(effects) - len({effect.order_id for effect in effects})


def _missing(orders: Sequence[Done], effects: Sequence[Done]) -> Iterator[str]:
    done = {effect.order_id: effect for effect in effects}
    for order in orders:
        effect = done.pop(order.order_id, None)
        if effect is None:
            yield f"order {order.order_id} has no effect"
        elif effect != order:
            yield f"order {order.order_id} has the effect of another: {effect}"
    for order_id in done:
        yield f"there is an effect of order {order_id}, which nobody has placed"


def _twice(effects: Sequence[Done]) -> Iterator[str]:
    for order_id, times in Counter(effect.order_id for effect in effects).items():
        if times > 1:
            yield f"order {order_id} has {times} effects"


def _out_of_order(effects: Sequence[Done]) -> Iterator[str]:
    last: dict[int, int] = defaultdict(lambda: -1)
    for effect in effects:
        if effect.number < last[effect.customer]:
            yield (
                f"customer {effect.customer}: number {effect.number} came after"
                f" {last[effect.customer]}"
            )
        last[effect.customer] = max(last[effect.customer], effect.number)
