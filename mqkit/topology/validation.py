"""The rules of meaning for a whole topology. Each stands for a message that would be lost, or for a
declaration that the broker would refuse half-way through an apply.

The rules are functions from a topology to faults; each says what was found, and what to write
instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from mqkit.delay import DELAYED_TYPE
from mqkit.topology.compile import compile_delays, exchange_arguments, queue_arguments
from mqkit.topology.cycles import alternate_cycles, binding_cycles, dead_letter_cycles
from mqkit.topology.file.fault import Fault, meant
from mqkit.topology.file.section import MAX_SHORT_STRING_BYTES, segment
from mqkit.topology.lots_by_the_clock import clock_faults
from mqkit.topology.model import ExchangeModel, Overflow, QueueModel, QueueType, Topology
from mqkit.topology.policy.rules import policy_faults
from mqkit.topology.retrying.lot_faults import lot_faults
from mqkit.topology.retrying.tier_faults import tier_faults

RESERVED_PREFIX = "amq."
"""Names that only the broker declares (AMQP 0-9-1, 1.7.2.1 rule "reserved")."""

PREDECLARED = frozenset(
    ("amq.direct", "amq.fanout", "amq.topic", "amq.headers", "amq.match", "amq.rabbitmq.trace")
)
"""Exchanges that are on every broker (3.1.3.1-4; the last one is RabbitMQ's own)."""

MAX_DELAYS = 32
"""Each delay of an exchange is an exchange and a queue on the broker."""

REJECTING = frozenset((str(Overflow.REJECT_PUBLISH), str(Overflow.REJECT_PUBLISH_DLX)))


def validate(topology: Topology) -> list[Fault]:
    """Every fault of meaning, sorted by line; an empty list is a topology that can be applied."""
    faults = [
        *(fault for exchange in topology.exchanges for fault in _exchange(exchange)),
        *(fault for queue in topology.queues for fault in _queue(queue)),
        *_collisions(topology),
        *tier_faults(topology),
        *lot_faults(topology),
        *_dangling(topology),
        *binding_cycles(topology),
        *alternate_cycles(topology),
        *dead_letter_cycles(topology),
        *policy_faults(topology),
        *clock_faults(topology, _queue_names(topology)),
    ]
    return sorted(set(faults))


def _exchange(model: ExchangeModel) -> Iterator[Fault]:
    path = f"exchanges.{segment(model.name)}"
    if not model.external:
        yield from _name(model.name, model.line, path)
    elif not model.name:
        yield Fault(model.line, path, "the default exchange is always there: do not list it")
    yield from _contradictions(model, exchange_arguments(model), path)
    if model.delays:
        yield from _delays(model, path)


def _delays(model: ExchangeModel, path: str) -> Iterator[Fault]:
    """A waiting message goes on to its exchange: the exchange must still be there, and take it."""
    line, path = model.line_of("delays"), f"{path}.delays"
    if model.type == DELAYED_TYPE:
        message = f"delays on an exchange of type {DELAYED_TYPE}, which has any delay: leave it out"
        yield Fault(line, path, message)
    leaving = [
        word
        for word, found in (
            ("durable: false", not model.durable),
            ("auto_delete: true", model.auto_delete),
        )
        if found
    ]
    if leaving:
        message = (
            f"delays on an exchange that can go away ({', '.join(leaving)}): what has waited would"
            " be lost; delays need a durable exchange that stays"
        )
        yield Fault(line, path, message)
    if model.internal:
        yield Fault(line, path, "delays on an internal exchange, which nobody publishes to")
    names = _delay_names(model)
    if len(names) > MAX_DELAYS:
        message = f"an exchange has at most {MAX_DELAYS} delays, this one {len(names)}"
        yield Fault(line, path, message)
    yield from _too_long(names, line, path)


def _delay_names(model: ExchangeModel) -> list[str]:
    """The names of the exchanges, and of the queues, that the delays add."""
    return [exchange.name for exchange, _, _ in compile_delays(model)]


def _queue(model: QueueModel) -> Iterator[Fault]:
    path = f"queues.{segment(model.name)}"
    yield from _name(model.name, model.line, path)
    yield from _contradictions(model, queue_arguments(model), path)
    yield from _overflow(model, path)
    if model.retry is not None:
        yield from _retry(model, path)
    if model.type is not None and model.type is not QueueType.CLASSIC:
        transient = [
            word
            for word, found in (
                ("durable: false", not model.durable),
                ("exclusive: true", model.exclusive),
                ("auto_delete: true", model.auto_delete),
            )
            if found
        ]
        if transient:
            message = f"{' and '.join(transient)}: a {model.type} queue is durable and shared"
            yield Fault(model.line, path, message)


def _name(name: str, line: int, path: str) -> Iterator[Fault]:
    if not name:
        yield Fault(line, path, "an empty name (expected one; a broker names queues only in code)")
    elif name.startswith(RESERVED_PREFIX):
        message = f"{name!r} begins with {RESERVED_PREFIX!r}, which is reserved for the broker"
        yield Fault(line, path, message)
    if (length := len(name.encode("utf-8", "surrogatepass"))) > MAX_SHORT_STRING_BYTES:
        message = f"a name of {length} bytes, over AMQP's limit of {MAX_SHORT_STRING_BYTES}"
        yield Fault(line, path, message)


def _contradictions(
    model: ExchangeModel | QueueModel, compiled: dict[str, object], path: str
) -> Iterator[Fault]:
    for name, raw in model.arguments.items():
        if name in compiled and compiled[name] != raw:
            message = f"{raw!r} contradicts the other keys, which make it {compiled[name]!r}"
            line = model.line_of("arguments")
            yield Fault(line, f"{path}.arguments.{segment(name)}", message)


def _overflow(model: QueueModel, path: str) -> Iterator[Fault]:
    """A full queue loses nothing unless the file says so in plain words."""
    decided = model.overflow is not None or "x-overflow" in model.arguments
    if model.is_limited and not decided and not _keeps_overflow(model):
        yield Fault(
            model.line_of("max_length", "max_length_bytes"),
            path,
            "a length limit without a parking lot: say what a full queue does, either"
            " 'overflow: drop-head' (the oldest messages are lost) or 'overflow: reject-publish'"
            " (publishers get a nack); or give it 'retry: {after: [...], then: park}'",
        )
    overflow = model.arguments.get("x-overflow", model.overflow)
    if model.retry is not None and str(overflow) in REJECTING:
        yield Fault(
            model.line_of("overflow", "arguments"),
            path,
            f"'overflow: {overflow}' together with retry tiers: a message whose waiting time is"
            " over would be refused by the full queue and lost; leave overflow out (what is too"
            " much goes to the parking lot), or take the retry out",
        )


def _keeps_overflow(model: QueueModel) -> bool:
    return (
        model.has_parking_lot
        or model.dead_letter is not None
        or "x-dead-letter-exchange" in model.arguments
    )


def _retry(model: QueueModel, path: str) -> Iterator[Fault]:
    """A waiting message comes back to its queue: the queue must still be there, and take it."""
    leaving = [
        word
        for word, found in (
            ("durable: false", not model.durable),
            ("exclusive: true", model.exclusive),
            ("auto_delete: true", model.auto_delete),
            ("expires", model.expires_ms is not None or "x-expires" in model.arguments),
        )
        if found
    ]
    if leaving:
        message = (
            f"retry on a queue that can go away ({', '.join(leaving)}): what comes back from a"
            " retry tier would be lost; retry needs a durable queue that stays"
        )
        yield Fault(model.line_of("retry"), f"{path}.retry", message)
    kind = model.arguments.get("x-queue-type", model.type)
    if str(kind) == QueueType.STREAM:
        message = "retry on a stream: a stream keeps its messages, nothing has to come back"
        yield Fault(model.line_of("retry"), f"{path}.retry", message)
    yield from _too_long(_compiled_names(model), model.line_of("retry"), f"{path}.retry")


def _too_long(names: list[str], line: int, path: str) -> Iterator[Fault]:
    for name in names:
        if (length := len(name.encode("utf-8", "surrogatepass"))) > MAX_SHORT_STRING_BYTES:
            message = f"its queue {name[:40]!r}... would have a name of {length} bytes, over 255"
            yield Fault(line, path, message)


def _compiled_names(model: QueueModel) -> list[str]:
    """The names of the queues that the retry policy adds."""
    return [*model.tiers, *([] if model.parking_lot is None else [model.parking_lot])]


def _queue_names(topology: Topology) -> set[str]:
    """The queues of the file, and those that its retry policies add."""
    declared = {model.name for model in topology.queues}
    return declared | {name for model in topology.queues for name in _compiled_names(model)}


def _collisions(topology: Topology) -> Iterator[Fault]:
    delays = {
        name: f"a delay of the exchange {model.name!r} makes"
        for model in topology.exchanges
        for name in _delay_names(model)
    }
    lots = {
        str(model.parking_lot): f"the retry policy of {model.name!r} makes"
        for model in topology.queues
        # A lot that the policy gives a name to may be a queue of the file.
        if model.retry is not None and model.retry.parks and model.retry.names.park is None
    }
    made = {"exchanges": delays, "queues": {**lots, **delays}}
    for queue in topology.queues:
        for name in _compiled_names(queue):
            if name in delays:
                path = f"queues.{segment(queue.name)}.retry"
                yield Fault(queue.line_of("retry"), path, f"{delays[name]} the queue {name!r}")
    seen: set[str] = set()
    for kind, models in (("exchanges", topology.exchanges), ("queues", topology.queues)):
        seen.clear()
        for model in models:
            path = f"{kind}.{segment(model.name)}"
            if model.name in seen:
                yield Fault(model.line, path, f"{model.name!r} is declared twice")
            seen.add(model.name)
            if model.name in made[kind]:
                message = f"{made[kind][model.name]} {_a(kind)} of this name"
                yield Fault(model.line, path, message)


def _a(kind: str) -> str:
    return "an exchange" if kind == "exchanges" else "a queue"


def _dangling(topology: Topology) -> Iterator[Fault]:
    """References to what is neither in the file, nor on every broker."""
    exchanges = {model.name for model in topology.exchanges} | PREDECLARED
    queues = _queue_names(topology)
    for kind, models in (("exchanges", topology.exchanges), ("queues", topology.queues)):
        for model in models:
            path = f"{kind}.{segment(model.name)}"
            for index, bind in enumerate(model.bind):
                place = f"{path}.bind[{index}].from"
                if bind.source == "":
                    message = "every queue is bound to the default exchange by its name already"
                    yield Fault(bind.line, place, message)
                elif bind.source not in exchanges:
                    yield Fault(bind.line, place, _unknown("exchange", bind.source, exchanges))
    for exchange in topology.exchanges:
        alternate = exchange.arguments.get("alternate-exchange", exchange.alternate)
        if alternate is not None and str(alternate) not in exchanges | {""}:
            path = f"exchanges.{segment(exchange.name)}.alternate"
            line = exchange.line_of("alternate", "arguments")
            yield Fault(line, path, _unknown("exchange", str(alternate), exchanges))
    for queue in topology.queues:
        arguments = {**queue_arguments(queue), **queue.arguments}
        path = f"queues.{segment(queue.name)}.dead_letter"
        line = queue.line_of("dead_letter", "arguments")
        target = arguments.get("x-dead-letter-exchange")
        key = arguments.get("x-dead-letter-routing-key")
        if target == "" and key is not None and str(key) not in queues:
            yield Fault(line, path, _unknown("queue", str(key), queues))
        elif target not in (None, "") and str(target) not in exchanges:
            yield Fault(line, path, _unknown("exchange", str(target), exchanges))


def _unknown(kind: str, name: str, known: set[str] | frozenset[str]) -> str:
    declared = sorted(known - PREDECLARED)
    hint = meant(name, declared) if declared else f"the file declares no {kind}"
    return (
        f"there is no {kind} {name!r} in this file ({hint}); if it is declared elsewhere, list it"
        " with 'external: true'"
    )
