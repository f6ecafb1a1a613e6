"""The laws of messages: confirmed ones were at the broker and are not lost, rejected ones were
refused, and every publish ends in time."""

from __future__ import annotations

from interop.chaos.checker.history import Deletion, History, Message
from interop.chaos.checker.verdict import Verdict, mark_of_message

AT_THE_BROKER = "a confirmed message was at the broker"
REFUSED = "a rejected message was refused by the broker"
KEPT = "a confirmed message is handled, parked or queued"
IN_TIME = "a publish ends by its deadline, with an outcome"

GRACE_S = 0.1
"""The time that a publish or a call may take beyond its deadline."""
ON_ITS_WAY_S = 0.05
"""The broker closes a channel for one message while others are being published on it: what it says
of their exchange may be on the wire for so long before the app reads it."""
GONE_WITH_QUEUE_S = 10.0
"""A handler may still have a message for so long after its queue was deleted."""


def was_at_the_broker(history: History) -> Verdict:
    """The ack of each confirmed message was on the wire before the app told of it."""
    verdict = Verdict(AT_THE_BROKER)
    for message in _with(history, "Confirmed"):
        verdict.judged += 1
        mark = mark_of_message(message.id)
        assert message.ended is not None
        if message.acked is None or message.acked > message.ended:
            verdict.offend(f"{message.id} is Confirmed, and no ack of it was on the wire", mark)
        if message.named != message.id:
            verdict.offend(f"the outcome of {message.id} names {message.named}", mark)
    return verdict


def was_refused(history: History) -> Verdict:
    """For each rejected message there was a return, a nack or a close on the wire."""
    verdict = Verdict(REFUSED)
    for message in _with(history, "Rejected"):
        verdict.judged += 1
        if not _is_refused(message, history):
            verdict.offend(
                f"{message.id} is Rejected as {message.reason} ({message.detail}), and the broker"
                " has not said so",
                mark_of_message(message.id),
            )
    return verdict


def is_kept(history: History) -> Verdict:
    """Each confirmed message was handled, or is in a queue; what went with a deleted queue is
    counted out."""
    verdict = Verdict(KEPT)
    by_owner: dict[str, list[Deletion]] = {}
    for deletion in history.deletions:
        by_owner.setdefault(deletion.owner, []).append(deletion)
    for message in _with(history, "Confirmed"):
        verdict.judged += 1
        if message.done or message.found_in:
            continue
        deletions = by_owner.get(message.queue, [])
        explained = next((each for each in deletions if _went_with(message, each)), None)
        if explained is None:
            verdict.offend(
                f"{message.id} for {message.queue} is Confirmed, and nowhere",
                mark_of_message(message.id),
            )
        else:
            verdict.counted_out[f"in {_role(explained)} when that was deleted"] += 1
    return verdict


def ends_in_time(history: History) -> Verdict:
    """Each publish came to an outcome by its deadline."""
    verdict = Verdict(IN_TIME)
    for message in history.messages.values():
        verdict.judged += 1
        mark = mark_of_message(message.id)
        if message.ended is None:
            verdict.offend(f"the publish of {message.id} has not ended", mark)
            continue
        if message.outcome == "raised":
            verdict.offend(f"the publish of {message.id} raised {message.detail}", mark)
        if message.outcome == "Unknown" and not message.detail:
            verdict.offend(f"{message.id} is Unknown, and nothing says why", mark)
        over_s = message.ended - message.published - message.deadline_s - GRACE_S
        if over_s <= 0:
            continue
        if over_s <= history.starvation.within(message.published, message.ended):
            verdict.counted_out["late while the app's process was starved"] += 1
        else:
            verdict.offend(
                f"the publish of {message.id} ended {over_s + GRACE_S:.3f} s after its deadline",
                mark,
            )
    return verdict


def _with(history: History, outcome: str) -> list[Message]:
    return [each for each in history.messages.values() if each.outcome == outcome]


def _is_refused(message: Message, history: History) -> bool:
    assert message.ended is not None
    if message.reason == "UNROUTABLE":
        return message.returned is not None and message.returned <= message.ended
    if message.reason == "NACKED":
        return message.nacked is not None and message.nacked <= message.ended
    since = message.published - ON_ITS_WAY_S
    closes = [code for t, code, _ in history.channel_closes if since <= t <= message.ended]
    return 404 in closes if message.reason == "NO_EXCHANGE" else bool(closes)


def _went_with(message: Message, deletion: Deletion) -> bool:
    """True if the message may have been in the queue when that was deleted."""
    late = deletion.ended + GONE_WITH_QUEUE_S
    if message.published >= deletion.ended:
        return False
    if message.last_seen is not None and message.last_seen > late:
        return False
    if message.acked is not None and message.acked > late:
        return False
    if deletion.queue == deletion.owner:
        return True
    return message.failed is not None and message.failed < deletion.ended


def _role(deletion: Deletion) -> str:
    if deletion.queue == deletion.owner:
        return "a queue"
    return "a parking lot" if deletion.queue.endswith(".parked") else "a retry tier"
