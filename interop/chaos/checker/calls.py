"""The laws of calls: everybody gets his own answer, in time, and no handler begins too late."""

from __future__ import annotations

from interop.chaos.checker.history import Call, History
from interop.chaos.checker.messages import GRACE_S
from interop.chaos.checker.verdict import Verdict, mark_of_call
from interop.chaos.questions import REMOTE_ERRORS, answer_of, complaint_of, way_of

OWN_ANSWER = "nobody gets another's answer"
IN_TIME = "a call ends by its deadline, with a reason"
NOT_TOO_LATE = "no handler begins after the deadline of its question"

REASONS = frozenset({"DeadlineExceeded", "ConnectionLost", "CallRejected"})
"""The errors of a call that its users are told of, beside ``RemoteError``."""
BEGIN_GRACE_S = 0.02
"""Between the fact of a call and its deadline's begin, and between a handler's begin and its
fact."""


def is_its_own(history: History) -> Verdict:
    """Each question n was answered with the answer, or the error, of n."""
    verdict = Verdict(OWN_ANSWER)
    for call in history.calls.values():
        if call.end not in ("answered", "remote error"):
            continue
        verdict.judged += 1
        if not _is_right(call):
            said = call.answer if call.end == "answered" else f"{call.error}: {call.text}"
            verdict.offend(
                f"question {call.number} got {said}, and {answer_of(call.number)} or"
                f" {REMOTE_ERRORS.get(way_of(call.number), 'no error')} is right",
                mark_of_call(call.number),
            )
    return verdict


def ends_in_time(history: History) -> Verdict:
    """Each call ended by its deadline, with an answer, or an error that says why there is none."""
    verdict = Verdict(IN_TIME)
    for call in history.calls.values():
        verdict.judged += 1
        mark = mark_of_call(call.number)
        if call.ended is None:
            verdict.offend(f"the call {call.number} has not ended", mark)
            continue
        if call.end == "call failed" and (call.error not in REASONS or not call.text):
            verdict.offend(f"the call {call.number} raised {call.error}: {call.text!r}", mark)
        over_s = call.ended - call.asked - call.deadline_s - GRACE_S
        if over_s <= 0:
            continue
        if over_s <= history.starvation.within(call.asked, call.ended):
            verdict.counted_out["late while the app's process was starved"] += 1
        else:
            verdict.offend(
                f"the call {call.number} ended {over_s + GRACE_S:.3f} s after its deadline", mark
            )
    return verdict


def begins_before_the_deadline(history: History) -> Verdict:
    """No question was handed to a handler when its caller had given up."""
    verdict = Verdict(NOT_TOO_LATE)
    for number, begun in history.handled_questions:
        verdict.judged += 1
        mark = mark_of_call(number)
        call = history.calls.get(number)
        if call is None:
            verdict.offend(f"question {number} was handled, and nobody asked it", mark)
            continue
        until = call.asked + call.deadline_s
        over_s = begun - until - BEGIN_GRACE_S
        if over_s <= 0:
            continue
        # A process that does not run between the look at the clock and the handler's begin, or
        # between the fact of the call and the call.
        if over_s <= history.starvation.within(call.asked, begun):
            verdict.counted_out["late while the app's process was starved"] += 1
        else:
            verdict.offend(
                f"the handler of question {number} began {over_s + BEGIN_GRACE_S:.3f} s after the"
                " deadline",
                mark,
            )
    return verdict


def _is_right(call: Call) -> bool:
    expected = REMOTE_ERRORS.get(way_of(call.number))
    if expected is None:
        return call.end == "answered" and call.answer == answer_of(call.number)
    return (
        call.end == "remote error"
        and call.error == expected
        and complaint_of(call.number) in call.text
    )
