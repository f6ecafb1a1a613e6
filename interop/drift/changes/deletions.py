"""Objects that somebody deletes: told over AMQP, too, and there again."""

from __future__ import annotations

from interop.drift.changes.change import Change, nothing
from interop.drift.hand import Hand
from interop.drift.layout import BINDINGS, EXCHANGES, QUEUES, Exchange, Queue

_KINDS = {
    "drift.plain": "a queue",
    "drift.work": "a queue that is bound, with tiers",
    "drift.consumed": "a queue with a consumer",
    "drift.work.retry.1m": "a retry tier",
    "drift.work.parked": "a parking lot",
    "drift.quorum": "a quorum queue",
    "drift.later.delay.5s": "the queue of a delay",
    "drift.by-headers": "a queue that is bound by headers",
}
_KINDS_OF_EXCHANGES = {
    "drift.x": "a topic exchange",
    "drift.alternate": "the alternate exchange of another one",
    "drift.direct": "the dead-letter exchange of a queue",
    "drift.headers": "a headers exchange",
    "drift.inner": "an exchange that another one is bound to",
    "drift.internal": "an internal exchange",
    "drift.later": "an exchange with delays",
    "drift.later.delay.5s": "the exchange of a delay",
}


def _deletion(title: str, declared: Exchange | Queue) -> Change:
    is_queue = isinstance(declared, Queue)
    told = (("missing", "queue" if is_queue else "exchange", declared.name, ""),)
    hanging = tuple(
        binding
        for binding in BINDINGS
        if (binding.destination == declared.name and binding.to_exchange != is_queue)
        or (binding.source == declared.name and not is_queue)
    )

    def do(hand: Hand) -> None:
        hand.delete(declared)

    return Change(
        f"{title} is deleted",
        do,
        nothing,
        amqp=told,
        management=told,
        comes_back=(declared, *hanging),
        touches=tuple(binding.name for binding in hanging),
    )


def _bound_objects() -> Change:
    """Both ends of a binding at once."""
    both = EXCHANGES["drift.x"], QUEUES["drift.work"]
    told = (("missing", "exchange", "drift.x", ""), ("missing", "queue", "drift.work", ""))

    def do(hand: Hand) -> None:
        for declared in both:
            hand.delete(declared)

    hanging = tuple(binding for binding in BINDINGS if binding.source == "drift.x")
    return Change(
        "an exchange and the queue that is bound to it are deleted",
        do,
        nothing,
        amqp=told,
        management=told,
        comes_back=(*both, *hanging),
        touches=tuple(binding.name for binding in hanging),
    )


def _family() -> Change:
    """All that a retry policy makes."""
    names = ("drift.work", "drift.work.retry.1m", "drift.work.parked")
    told = tuple(("missing", "queue", name, "") for name in names)

    def do(hand: Hand) -> None:
        for name in names:
            hand.delete(QUEUES[name])

    hanging = tuple(binding for binding in BINDINGS if binding.destination == "drift.work")
    return Change(
        "a queue, its tiers and its lot are deleted",
        do,
        nothing,
        amqp=told,
        management=told,
        comes_back=(*(QUEUES[name] for name in names), *hanging),
        touches=tuple(binding.name for binding in hanging),
    )


DELETIONS: tuple[Change, ...] = (
    *(_deletion(title, QUEUES[name]) for name, title in _KINDS.items()),
    *(_deletion(title, EXCHANGES[name]) for name, title in _KINDS_OF_EXCHANGES.items()),
    _bound_objects(),
    _family(),
)
