"""The promises of a migration, judged by the facts of a run. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from interop.migration.facts import End, Facts

FAULTS_SHOWN = 20


def faults(facts: Facts) -> list[str]:
    """Everything that breaks a promise; empty if all are kept."""
    return [
        *facts.unexpected,
        *(fault for end in facts.ends for fault in _of_end(end)),
        *_twice(facts),
        *_lost(facts),
    ]


def _lost(facts: Facts) -> Iterator[str]:
    """Each message that the broker has confirmed is handled."""
    for message_id in facts.published:
        if not facts.handled[message_id]:
            yield f"{message_id} was never handled"


def _twice(facts: Facts) -> Iterator[str]:
    """None is handled more often than it was published and counted."""
    published = set(facts.published)
    for message_id, times in facts.handled.items():
        if message_id not in published:
            yield f"{message_id} was handled, and nobody has published it"
        elif times > 1 + facts.counted[message_id]:
            yield f"{message_id} was handled {times} times, and counted {facts.counted[message_id]}"


def _of_end(end: End) -> Iterator[str]:
    """The queue is as it should be, bound as before, and nothing temporary is left."""
    if end.code:
        yield f"{end.title}: exit code {end.code}"
    if end.arguments != end.wanted:
        yield f"{end.title}: the queue has {end.arguments}, and should have {end.wanted}"
    if end.bindings != end.bindings_wanted:
        yield f"{end.title}: bound by {sorted(end.bindings)}, before {sorted(end.bindings_wanted)}"
    if end.left:
        yield f"{end.title}: left over: {', '.join(end.left)}"
