"""The reports of ``mqkit broker store check`` and ``repair``, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mqkit_cli.render import line, plural, write_table
from reference_broker.store.doctor.health import Health, QueueHealth, SegmentHealth
from reference_broker.store.doctor.repair import Repair

NOBODY = "-"


def show_health(health: Health, *, at_rest: bool) -> None:
    """Files, queues, what is wrong, and the verdict in the last line."""
    _show_files(health)
    line("")
    show_queues(health)
    line("")
    for complaint in _complaints(health):
        line(complaint)
    if at_rest and health.torn_bytes:
        line(
            f"{plural(health.torn_bytes, 'byte')} at the end of the newest segment were never"
            " synced: nothing in them was promised, and the next start cuts them off"
        )
    for file in health.quarantined:
        line(f"{file} was put aside earlier: nothing reads it")
    line(verdict(health))


def verdict(health: Health) -> str:
    """Sound or damaged, in a line."""
    size = f"{plural(len(health.segments), 'segment')}, {plural(health.messages, 'message')}"
    if health.sound:
        return f"sound: {size}"
    return (
        f"damaged: {plural(len(health.damaged), 'segment')} of {len(health.segments)},"
        f" {plural(len(health.missing), 'segment')} missing, at most"
        f" {plural(health.lost, 'message')} lost of those that can be counted;"
        f" {plural(health.messages, 'message')} can be read"
    )


def show_queues(health: Health) -> None:
    """A line for each queue."""
    rows = [
        (*queue_name(queue), queue.messages, queue.body_bytes, queue.lost)
        for queue in health.queues
    ]
    columns = ("vhost", "queue", "messages", "body bytes", "lost (at most)")
    if rows:
        write_table(columns, rows)
    else:
        line("no durable queues")


def queue_name(queue: QueueHealth) -> tuple[str, str]:
    """Virtual host and name, or the id where no definition knows it."""
    if queue.vhost is None or queue.name is None:
        return NOBODY, f"(id {queue.queue_id}, its definition is lost)"
    return queue.vhost, queue.name


def health_json(health: Health, *, at_rest: bool) -> dict[str, Any]:
    """The whole report; the names are stable."""
    return {
        "sound": health.sound,
        "in_use": not at_rest,
        "segments": [_segment_json(segment) for segment in health.segments],
        "queues": [_queue_json(queue) for queue in health.queues],
        "missing_segments": health.missing,
        "inconsistent": health.unlike + health.in_doubt,
        "torn_bytes": health.torn_bytes,
        "quarantined": health.quarantined,
        "leftover": health.leftover,
    }


def show_repair(repair: Repair, *, dry_run: bool) -> None:
    """Print what a repair did, or would do."""
    health = repair.health
    if not repair.needed:
        line(f"nothing to repair; {verdict(health)}")
        return
    would = "would be " if dry_run else ""
    for complaint in _complaints(health):
        line(complaint)
    for segment in health.damaged:
        line(
            f"{segment.name.file}: {would}written anew with {segment.live_messages}"
            " messages of it in their queues"
        )
    for base in health.missing:
        line(f"segment {base:016x}: {would}accepted as missing; nobody knows what was in it")
    for file in repair.put_aside:
        line(f"{file}: {would}put aside; delete it when nobody needs it any more")
    for queue_id, name in repair.salvaged.items():
        line(
            f"queue {name} in vhost /: {would}declared for the messages of queue id {queue_id},"
            " whose definition is lost"
        )
    line("")
    show_queues(health)
    line("")
    line(
        f"{would}repaired: {plural(health.messages, 'message')} kept, at most"
        f" {plural(health.lost, 'message')} lost of those that can be counted"
    )


def repair_json(repair: Repair, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "needed": repair.needed,
        "rewritten": [segment.name.file for segment in repair.health.damaged],
        "put_aside": repair.put_aside,
        "accepted_missing": repair.health.missing,
        "declared": [
            {"queue_id": queue_id, "vhost": "/", "name": name}
            for queue_id, name in repair.salvaged.items()
        ],
        "queues": [_queue_json(queue) for queue in repair.health.queues],
    }


def _show_files(health: Health) -> None:
    columns = ("file", "bytes", "state", "messages", "live bytes", "records")
    rows = [
        (
            segment.name.file,
            segment.size_bytes,
            segment.state.value if segment.sound else f"{segment.state.value}, damaged",
            segment.live_messages,
            segment.live_bytes,
            ", ".join(f"{kind.lower()} {count}" for kind, count in _records(segment)),
        )
        for segment in health.segments
    ]
    if rows:
        write_table(columns, rows)


def _records(segment: SegmentHealth) -> Iterator[tuple[str, int]]:
    for kind in sorted(segment.records):
        yield kind.name, segment.records[kind]


def _complaints(health: Health) -> Iterator[str]:
    for segment in health.damaged:
        for fault in segment.faults:
            yield (
                f"{segment.name.file}: {fault.what}: {plural(fault.size_bytes, 'byte')} at offset"
                f" {fault.offset}, log position {fault.position}"
            )
    for base in health.missing:
        yield (
            f"segment {base:016x} is missing: nobody knows how many messages were in it, and what"
            " was acked in it may come back"
        )
    yield from health.unlike
    yield from health.in_doubt


def _segment_json(segment: SegmentHealth) -> dict[str, Any]:
    return {
        "file": segment.name.file,
        "bytes": segment.size_bytes,
        "state": segment.state.value,
        "sound": segment.sound,
        "records": dict(_records(segment)),
        "live_messages": segment.live_messages,
        "live_bytes": segment.live_bytes,
        "torn_bytes": segment.torn_bytes,
        "faults": [fault._asdict() for fault in segment.faults],
    }


def _queue_json(queue: QueueHealth) -> dict[str, Any]:
    return {
        "vhost": queue.vhost,
        "name": queue.name,
        "queue_id": queue.queue_id,
        "messages": queue.messages,
        "body_bytes": queue.body_bytes,
        "lost_at_most": queue.lost,
    }
