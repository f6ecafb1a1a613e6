"""A topology as ordered declarations: exchanges, then queues, then bindings. Pure.

What a delay of an exchange adds comes after that exchange. Within the queues, a parking lot comes
before what dead-letters into it, and the tiers come after the queue that they go back to: wherever
an apply is interrupted, nothing points to what is not there. Where a policy gives a lot or a tier
the name of a queue of the file, that queue is used as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.delay.compile import compile_delay
from mqkit.retry.compile import compile_parking_lot, compile_tier
from mqkit.topology.model import (
    Bind,
    ExchangeModel,
    Overflow,
    QueueModel,
    QueueType,
    Topology,
)
from mqkit.topology.policy.keys import VIA_POLICY, argument_of


def compile_topology(topology: Topology) -> tuple[Declaration, ...]:
    """Everything to declare, in order. Equal topologies give equal declarations.

    Expects a topology that :func:`~mqkit.topology.validation.validate` finds no fault with.
    """
    exchanges = [
        exchange
        for model in topology.exchanges
        if not model.external
        for exchange in (compile_exchange(model), *(part[0] for part in compile_delays(model)))
    ]
    delays = [part for model in topology.exchanges for part in compile_delays(model)]
    queues = [
        *(queue for _, queue, _ in delays),
        *(queue for _, queue in owned_queues(topology)),
    ]
    bindings = [
        *(binding for _, _, binding in delays),
        *(
            _binding(bind, model, to_exchange=True)
            for model in topology.exchanges
            for bind in model.bind
        ),
        *(
            _binding(bind, model, to_exchange=False)
            for model in topology.queues
            for bind in model.bind
        ),
    ]
    return (*exchanges, *queues, *bindings)


def compile_exchange(model: ExchangeModel) -> Exchange:
    """The declaration of one exchange."""
    return Exchange(
        model.name,
        type=model.type,
        durable=model.durable,
        auto_delete=model.auto_delete,
        internal=model.internal,
        arguments={**exchange_arguments(model), **model.arguments},
    )


def compile_delays(model: ExchangeModel) -> tuple[tuple[Exchange, Queue, Binding], ...]:
    """The exchange, the queue and the binding of each delay of an exchange, shortest first."""
    return tuple(compile_delay(model.name, delay_ms) for delay_ms in sorted({*model.delays}))


def owned_queues(topology: Topology) -> Iterator[tuple[QueueModel, Queue]]:
    """The queues to declare, in order, each once and with the model that it comes from."""
    declared = {model.name for model in topology.queues}
    made: set[str] = set()
    for model in _lots_first(topology):
        for queue in compile_queues(model):
            is_own = queue.name == model.name or queue.name not in declared
            if is_own and queue.name not in made:  # several queues may park in one lot
                made.add(queue.name)
                yield model, queue


def _lots_first(topology: Topology) -> Iterator[QueueModel]:
    """The queues in the order of the file, but for a declared lot: before the first that parks
    there."""
    models = {model.name: model for model in topology.queues}
    placed: set[str] = set()
    for first in topology.queues:
        chain: list[QueueModel] = []
        model: QueueModel | None = first
        while model is not None and model.name not in placed:
            placed.add(model.name)
            chain.append(model)
            model = models.get(model.parking_lot or "")
        yield from reversed(chain)


def compile_queues(model: QueueModel) -> tuple[Queue, ...]:
    """The queue itself, with its parking lot before it and its retry tiers after it."""
    if model.external:
        return ()
    main = compile_queue(model)
    if model.retry is None:
        return (main,)
    quorum, names = model.type is QueueType.QUORUM, model.retry.names
    tiers = (
        compile_tier(model.name, after, quorum=quorum, names=names) for after in model.retry.tiers
    )
    if not model.retry.parks:
        return (main, *tiers)
    return (compile_parking_lot(model.name, quorum=quorum, names=names), main, *tiers)


def compile_queue(model: QueueModel) -> Queue:
    """The declaration of the queue alone."""
    return Queue(
        model.name,
        durable=model.durable,
        exclusive=model.exclusive,
        auto_delete=model.auto_delete,
        arguments={**_declared(model), **model.arguments},
    )


def exchange_arguments(model: ExchangeModel) -> dict[str, Any]:
    """The arguments of ``exchange.declare`` that the model's keys (not its raw arguments) give."""
    return {} if model.alternate is None else {"alternate-exchange": model.alternate}


def queue_arguments(model: QueueModel) -> dict[str, Any]:
    """The arguments of ``queue.declare`` that the model's keys (not its raw arguments) give."""
    said = {
        "x-queue-type": None if model.type is None else str(model.type),
        "x-message-ttl": model.message_ttl_ms,
        "x-expires": model.expires_ms,
        "x-max-length": model.max_length,
        "x-max-length-bytes": model.max_length_bytes,
        "x-max-priority": model.max_priority,
    }
    arguments: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    return {**arguments, **_overflow(model), **_dead_lettering(model)}


def _declared(model: QueueModel) -> dict[str, Any]:
    """Those of them that ``via_policy`` leaves to be declared."""
    in_policy = {
        argument_of(key) for listed in model.via_policy for key in VIA_POLICY.get(listed, ())
    }
    arguments = queue_arguments(model)
    return {name: value for name, value in arguments.items() if name not in in_policy}


def _overflow(model: QueueModel) -> dict[str, Any]:
    """``drop-head`` is written out wherever something is dead-lettered by it."""
    if model.overflow is not None:
        return {"x-overflow": str(model.overflow)}
    if model.is_limited and (model.has_parking_lot or model.dead_letter is not None):
        return {"x-overflow": str(Overflow.DROP_HEAD)}
    return {}


def _dead_lettering(model: QueueModel) -> dict[str, Any]:
    """The dead-letter arguments of a queue.

    A queue with a parking lot sends it there if the broker throws anything away by itself: an
    overflow, an expiry, or a quorum queue's delivery limit. A queue that says ``overflow:`` has
    decided about that, and a queue without limits keeps no dead-lettering that it does not need,
    so that a retry policy can be added to it later without a migration.
    """
    if model.dead_letter is not None:
        to = {"x-dead-letter-exchange": model.dead_letter.exchange}
        key = model.dead_letter.key
        return to if key is None else {**to, "x-dead-letter-routing-key": key}
    throws_away = (
        model.is_limited or model.message_ttl_ms is not None or model.type is QueueType.QUORUM
    )
    if model.has_parking_lot and model.overflow is None and throws_away:
        return {
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": model.parking_lot,
        }
    return {}


def _binding(bind: Bind, model: ExchangeModel | QueueModel, *, to_exchange: bool) -> Binding:
    return Binding(bind.source, model.name, bind.key, to_exchange, bind.arguments)
