"""The rules of meaning for ``lots:``: each lot is a parking lot, and comes to its end."""

from __future__ import annotations

from collections.abc import Iterator, Set

from mqkit.retry.duration import format_duration
from mqkit.topology.file.fault import Fault, meant
from mqkit.topology.file.section import MAX_SHORT_STRING_BYTES, segment
from mqkit.topology.lot_model import LotModel
from mqkit.topology.model import QueueModel, QueueType, Topology

MAX_TENDED = 500
"""Lots, and queues with an alert: each has two channels of one connection, which has 2,047."""

LEADER_PREFIX = "mqkit.leader."
"""The queue that is the lock of a lot is called so (:mod:`mqkit.lots.clock.leader`)."""


def clock_faults(topology: Topology, queues: Set[str]) -> Iterator[Fault]:
    """The faults of the lots of ``topology``; ``queues`` are the names of all queues of the file,
    parking lots among them."""
    watched = [model for model in topology.queues if model.alert is not None]
    if len(topology.lots) + len(watched) > MAX_TENDED:
        message = f"at most {MAX_TENDED} lots and queues with an alert in one file"
        yield Fault(topology.lots[0].line if topology.lots else watched[0].line, "lots", message)
    for model in watched:
        path = f"queues.{segment(model.name)}.alert"
        yield from _name(model.name, model.line_of("alert"), path)
        if topology.lot(model.name) is not None:
            message = f"{model.name!r} is a lot: its alert stands under 'lots:'"
            yield Fault(model.line_of("alert"), path, message)
    for lot in topology.lots:
        path = f"lots.{segment(lot.name)}"
        yield from _name(lot.name, lot.line, path)
        yield from _order(lot, path)
        yield from _queue(lot, topology.queue(lot.name), queues, path)


def _name(name: str, line: int, path: str) -> Iterator[Fault]:
    length = len(f"{LEADER_PREFIX}{name}".encode("utf-8", "surrogatepass"))
    if length > MAX_SHORT_STRING_BYTES:
        message = f"its lock {LEADER_PREFIX}... would have a name of {length} bytes, over 255"
        yield Fault(line, path, message)


def _order(lot: LotModel, path: str) -> Iterator[Fault]:
    if lot.replay is None or lot.archive is None or lot.replay.every_ms < lot.archive.after_ms:
        return
    every, after = format_duration(lot.replay.every_ms), format_duration(lot.archive.after_ms)
    message = (
        f"'every: {every}' is not shorter than 'after: {after}': each message would be archived"
        " before it goes back once"
    )
    yield Fault(lot.line_of("replay"), path, message)


def _queue(lot: LotModel, model: QueueModel | None, queues: Set[str], path: str) -> Iterator[Fault]:
    if lot.name not in queues:
        hint = meant(lot.name, sorted(queues))
        message = (
            f"there is no parking lot {lot.name!r} in this file ({hint});"
            " if it is declared elsewhere, list it under queues: with 'external: true'"
        )
        yield Fault(lot.line, path, message)
    if model is None:
        return
    if model.retry is not None:
        message = f"{lot.name!r} has a retry policy: it is a queue that is consumed, and no lot"
        yield Fault(lot.line, path, message)
    if str(model.arguments.get("x-queue-type", model.type)) == QueueType.STREAM:
        yield Fault(lot.line, path, f"{lot.name!r} is a stream: messages can't leave it")
    if model.exclusive:
        yield Fault(lot.line, path, f"{lot.name!r} is exclusive: nobody else can look at it")
