"""The promises of a stream source, judged by the facts of a run. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from interop.spark_stream.facts import Facts

FAULTS_SHOWN = 20


def name(number: int) -> str:
    """The id of a message."""
    return f"m{number}"


def faults(facts: Facts) -> list[str]:
    """Everything that breaks a promise; empty if all are kept."""
    found = [*_missing(facts), *_left(facts)]
    if facts.mode == "spool":
        return [*found, *_twice(facts), *_files(facts)]
    return [*found, *_twice_outside(facts)]


def duplicates(facts: Facts) -> int:
    """Rows beyond the first of their id."""
    return sum(len(batches) - 1 for batches in facts.batches.values())


def _missing(facts: Facts) -> Iterator[str]:
    wanted = {name(number) for number in range(facts.messages)}
    for message_id in sorted(wanted - facts.batches.keys()):
        yield f"{message_id} is missing"
    for message_id in sorted(facts.batches.keys() - wanted):
        yield f"{message_id} was never published"


def _left(facts: Facts) -> Iterator[str]:
    if facts.ready or facts.unacked:
        yield f"the queue has {facts.ready} ready and {facts.unacked} unacked messages"


def _twice(facts: Facts) -> Iterator[str]:
    for message_id, batches in facts.batches.items():
        if len(batches) > 1:
            yield f"{message_id} is there {len(batches)} times, in batches {sorted(batches)}"


def _twice_outside(facts: Facts) -> Iterator[str]:
    """A kill may repeat the newest finished batch, whose ack had not come, and the one after it."""
    under_way = {kill.batch + more for kill in facts.kills for more in (0, 1)}
    for message_id, batches in facts.batches.items():
        for batch in sorted(batches)[:-1]:
            if batch not in under_way:
                yield f"{message_id} of batch {batch} came again, and no kill was near that batch"


def _files(facts: Facts) -> Iterator[str]:
    batches = {path.rpartition("/")[0] for path in facts.files_at_end}
    if len(batches) > 1:
        yield f"data files of {len(batches)} batches were left: {sorted(batches)}"
    for path in facts.files_after_start:
        yield f"{path} is there after the next start"
