"""The rules for the names of retry tiers. A tier goes back to one queue, and waits one time."""

from __future__ import annotations

from collections.abc import Iterator

from mqkit.retry.compile import compile_tier
from mqkit.retry.duration import format_duration
from mqkit.topology.compile import compile_queue
from mqkit.topology.file.fault import Fault
from mqkit.topology.file.section import segment
from mqkit.topology.model import QueueModel, QueueType, Topology
from mqkit.topology.planning.diff import differences_between
from mqkit.topology.retrying.per_message_ttl import TTL, WHY


def tier_faults(topology: Topology) -> Iterator[Fault]:
    """Tiers that two queues would share, and tiers that are a queue of the file and not equal."""
    declared = {model.name: model for model in topology.queues}
    owners: dict[str, QueueModel] = {}
    for model in topology.queues:
        for name, after_ms in model.tiers.items():
            if name in owners:
                message = (
                    f"{name!r} is a retry tier of {owners[name].name!r} already, and a tier goes"
                    " back to one queue: give this one a pattern of its own"
                )
                yield Fault(line_of_tiers(model), path_of_tiers(model), message)
                continue
            owners[name] = model
            if name in declared:
                yield from _declared(declared[name], model, after_ms)


def line_of_tiers(model: QueueModel) -> int:
    """The line to blame for the names of its tiers."""
    return model.line_of("retry.tiers", "retry")


def path_of_tiers(model: QueueModel) -> str:
    """The path to blame for the names of its tiers."""
    key = "retry" if model.retry is None or model.retry.names.tiers is None else "retry.tiers"
    return f"queues.{segment(model.name)}.{key}"


def _declared(found: QueueModel, owner: QueueModel, after_ms: int) -> Iterator[Fault]:
    """The queue ``found`` of the file has the name of a tier of ``owner``."""
    assert owner.retry is not None
    path = f"queues.{segment(found.name)}"
    if found is owner:
        message = "a retry tier can't be the queue itself: name tiers of their own"
        yield Fault(line_of_tiers(owner), path_of_tiers(owner), message)
        return
    if found.external:
        message = (
            f"it is a retry tier of {owner.name!r}, whose waiting time can't be seen where it is"
            " external: take it out of the file (a queue that is there already and equal stays as"
            " it is)"
        )
        yield Fault(found.line, path, message)
        return
    quorum = owner.type is QueueType.QUORUM
    tier = compile_tier(owner.name, after_ms, quorum=quorum, names=owner.retry.names)
    declared = compile_queue(found)
    differences = differences_between(tier, declared)
    if not differences:
        return
    if owner.retry.names.tiers is not None and TTL not in declared.arguments:
        message = (
            f"it has no message_ttl, so its messages bring their own TTLs, and {owner.name!r} names"
            f" it as its retry tier of {format_duration(after_ms)}: {WHY}"
        )
    else:
        message = (
            f"the retry policy of {owner.name!r} makes a queue of this name, and another one:"
            f" {'; '.join(map(str, differences))}"
        )
    yield Fault(found.line, path, message)
