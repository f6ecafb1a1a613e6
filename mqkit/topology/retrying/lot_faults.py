"""The rules for parking lots. Nobody else has a message that is parked: a lot keeps it."""

from __future__ import annotations

from collections.abc import Iterator

from mqkit.retry.compile import UNLIMITED_DELIVERIES
from mqkit.topology.compile import compile_queue, owned_queues
from mqkit.topology.cycles import Routes, find_cycles
from mqkit.topology.file.fault import Fault
from mqkit.topology.file.section import segment
from mqkit.topology.model import Overflow, QueueModel, QueueType, Topology

LIMITS = ("x-max-length", "x-max-length-bytes")


def lot_faults(topology: Topology) -> Iterator[Fault]:
    """Names of lots that can be none, rings of lots, and declared lots that would lose messages."""
    declared = {model.name: model for model in topology.queues}
    tiers = {name: model.name for model in topology.queues for name in model.tiers}
    first: dict[str, QueueModel] = {}
    for model in topology.queues:
        lot = model.parking_lot
        if lot is None:
            continue
        message = _no_lot(model, lot, tiers)
        if message is None and lot in first and lot not in declared:
            message = _other_type(model, first[lot], lot)
        if message is not None:
            yield Fault(line_of_lot(model), path_of_lot(model), message)
        elif lot in declared and lot not in first and _is_named(model):
            yield from _losing(declared[lot], model, topology)
        first.setdefault(lot, model)
    yield from _rings(topology)


def line_of_lot(model: QueueModel) -> int:
    """The line to blame for the name of its parking lot."""
    return model.line_of("retry.park", "retry")


def path_of_lot(model: QueueModel) -> str:
    """The path to blame for the name of its parking lot."""
    key = "retry.park" if _is_named(model) else "retry"
    return f"queues.{segment(model.name)}.{key}"


def _is_named(model: QueueModel) -> bool:
    return model.retry is not None and model.retry.names.park is not None


def _no_lot(model: QueueModel, lot: str, tiers: dict[str, str]) -> str | None:
    """The reason why ``lot`` can't be the lot of ``model``, whatever it is declared as."""
    if lot == model.name:
        return "a queue can't be its own parking lot: what failed would be delivered again at once"
    if lot in tiers:
        return (
            f"{lot!r} is a retry tier of {tiers[lot]!r}: what is parked there would go back to"
            f" {tiers[lot]!r} by itself"
        )
    return None


def _other_type(model: QueueModel, other: QueueModel, lot: str) -> str | None:
    if (model.type is QueueType.QUORUM) is (other.type is QueueType.QUORUM):
        return None
    return (
        f"{lot!r} is the parking lot of {other.name!r}, too, and only one of the two is a quorum"
        f" queue: declare {lot!r} under queues:, with the type that it is to have"
    )


def _rings(topology: Topology) -> Iterator[Fault]:
    """Queues that park in each other: with a consumer on each, a message goes round for ever."""
    models = {model.name: model for model in topology.queues}
    lots = {name: model.parking_lot for name, model in models.items()}
    graph = {name: () if lot in (None, name) else (str(lot),) for name, lot in lots.items()}
    for ring in find_cycles(graph):
        model = models[ring[0]]
        shown = " -> ".join((*ring, ring[0]))
        message = f"a ring of parking lots ({shown}): a message that fails in each would never end"
        yield Fault(line_of_lot(model), path_of_lot(model), message)


def _losing(lot: QueueModel, owner: QueueModel, topology: Topology) -> Iterator[Fault]:
    """The keys of a declared lot by which parked messages would be lost."""
    if lot.external:
        return  # somebody else's, and nothing of it can be seen here
    queue = compile_queue(lot)
    path = f"queues.{segment(lot.name)}"
    whose = f"it is the parking lot of {owner.name!r}"
    for key, found in (
        ("durable", not queue.durable),
        ("exclusive", queue.exclusive),
        ("auto_delete", queue.auto_delete),
        ("expires", "x-expires" in queue.arguments),
    ):
        if found:
            message = f"{whose}, and would go away with what is parked in it: take {key!r} out"
            yield Fault(lot.line_of(key, "arguments"), path, message)
    if queue.arguments.get("x-queue-type") == QueueType.STREAM:
        message = f"{whose}: nothing can be taken out of a stream; a lot is a classic or quorum one"
        yield Fault(lot.line_of("type", "arguments"), path, message)
    if "x-dead-letter-exchange" in queue.arguments:
        # What leaves the lot goes on from there; a full lot that refuses is another matter.
        yield from _refusing(lot, owner, topology)
        return
    if "x-message-ttl" in queue.arguments:
        message = (
            f"{whose}, and what is parked in it would expire and be lost: take 'message_ttl' out,"
            " or say with 'dead_letter' where it goes then"
        )
        yield Fault(lot.line_of("message_ttl", "arguments"), path, message)
    if _limits(lot) and queue.arguments.get("x-overflow", "drop-head") == Overflow.DROP_HEAD:
        message = (
            f"{whose}, and with a length limit the oldest parked messages would be lost: take the"
            " limit out, or say with 'dead_letter' where they go then"
        )
        yield Fault(lot.line_of("max_length", "max_length_bytes", "arguments"), path, message)
    limit = queue.arguments.get("x-delivery-limit")
    if isinstance(limit, int) and 0 <= limit < UNLIMITED_DELIVERIES:
        message = (
            f"{whose}: each look at a message counts as a delivery, and after {limit} it would be"
            f" lost; say 'x-delivery-limit: {UNLIMITED_DELIVERIES}', or with 'dead_letter' where it"
            " goes then"
        )
        yield Fault(lot.line_of("arguments"), path, message)
    yield from _refusing(lot, owner, topology)


def _limits(lot: QueueModel) -> bool:
    return any(name in compile_queue(lot).arguments for name in LIMITS)


def _refusing(lot: QueueModel, owner: QueueModel, topology: Topology) -> Iterator[Fault]:
    """A full lot that refuses: mqkit is told so and keeps the message in its queue, but a classic
    queue's dead letters are lost, for the broker tells nobody (RabbitMQ "Queue Length Limit")."""
    overflow = str(compile_queue(lot).arguments.get("x-overflow", ""))
    if not _limits(lot) or not overflow.startswith(Overflow.REJECT_PUBLISH):
        return
    routes = Routes(topology)
    senders = [
        queue.name for _, queue in owned_queues(topology) if lot.name in routes.targets(queue)
    ]
    if senders:
        message = (
            f"it is the parking lot of {owner.name!r} and refuses when it is full, and"
            f" {senders[0]!r} dead-letters to it: what the broker puts there would be lost; take"
            " the limit out"
        )
        line = lot.line_of("max_length", "max_length_bytes", "arguments")
        yield Fault(line, f"queues.{segment(lot.name)}", message)
