"""The judgement: what the clients were told, beside what is in the queue and in the workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from interop.sync.clients import Answers

FAULTS_SHOWN = 10


def faults(
    answers: Answers,
    queued: Iterable[str],
    before: Mapping[int, int],
    after: Mapping[int, int],
) -> list[str]:
    """The broken promises. ``queued`` are the bodies in the queue; ``before`` and ``after`` the
    numbers of descriptors of each worker, at rest."""
    copies = Counter(queued)
    return [*_of_requests(answers, copies), *_of_workers(answers, before, after)]


def _of_requests(answers: Answers, copies: Counter[str]) -> Iterator[str]:
    for name, why in answers.failures.items():
        yield f"request {name} has no outcome: {why}"
    for name, outcome in answers.outcomes.items():
        if outcome == "Confirmed" and not copies[name]:
            yield f"request {name} was confirmed, and its message is lost"
        elif outcome == "Rejected" and copies[name]:
            yield f"request {name} was rejected, and its message is in the queue"
    for name in copies.keys() - answers.outcomes.keys() - answers.failures.keys():
        yield f"the message {name} is in the queue, and nobody has asked for it"


def _of_workers(
    answers: Answers, before: Mapping[int, int], after: Mapping[int, int]
) -> Iterator[str]:
    if before.keys() != after.keys():
        yield f"workers {sorted(before)} were there, and {sorted(after)} are"
    for worker in before.keys() - answers.workers:
        yield f"worker {worker} has answered nothing"
    for worker in before.keys() & after.keys():
        if after[worker] > before[worker]:
            yield f"worker {worker} had {before[worker]} descriptors, and has {after[worker]}"
