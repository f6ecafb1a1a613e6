"""Faults of policies, each with its line."""

from __future__ import annotations

import pytest

from mqkit.topology import check

GOOD = """
queues:
  q: {max_length: 5, overflow: drop-head, via_policy: [max_length, overflow]}
policies:
  wide: {pattern: "", definition: {message-ttl: 1000}}
  narrow: {pattern: ^q, apply_to: queues, priority: 1, definition: {expires: 60000}}
"""


def faults(text: str) -> list[str]:
    return [fault.show("f") for fault in check(text)[1]]


def test_nothing_is_wrong_with_good_ones() -> None:
    assert faults(GOOD) == []


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ('{pattern: "(", definition: {expires: 1}}', "is no regular expression"),
        ("{pattern: q, definition: {}}", "it is empty"),
        ("{pattern: q, definition: {max-lenght: 1}}", "did you mean 'max-length'?"),
        ("{pattern: q, definition: {x-max-length: 1}}", "did you mean 'max-length'?"),
        ("{pattern: q, definition: {max_length: 1}}", "did you mean 'max-length'?"),
        ("{pattern: q, definition: {max-length: -1}}", "-1 is not a whole number from 0 on"),
        ("{pattern: q, definition: {overflow: drop}}", "'drop' is not one of drop-head"),
        ("{definition: {expires: 1}}", "'pattern' is missing"),
        ("{pattern: q}", "'definition' is missing"),
        ("{pattern: 5, definition: {expires: 1}}", "5 is not text"),
        ("{pattern: q, apply_to: queue, definition: {expires: 1}}", "did you mean 'queues'?"),
        ("{pattern: q, priority: high, definition: {expires: 1}}", "is not a number from"),
    ],
)
def test_what_is_no_policy(policy: str, words: str) -> None:
    (fault,) = faults(f"policies:\n  p: {policy}\n")
    assert fault.startswith("f:2: policies.p")
    assert words in fault


def test_a_pattern_has_a_bound() -> None:
    assert faults(f"policies:\n  p: {{pattern: {'a' * 8192}, definition: {{expires: 1}}}}\n") == []
    (fault,) = faults(f"policies:\n  p: {{pattern: {'a' * 8193}, definition: {{expires: 1}}}}\n")
    assert "over 8192 bytes" in fault


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        ("{via_policy: [max_length]}", "the queue has no max_length: add it, or leave it out"),
        ("{via_policy: [max_priority]}", "is no key that a policy can have"),
        ("{message_ttl: 1s, via_policy: [message_tll]}", "did you mean 'message_ttl'?"),
        ("{message_ttl: 1s, via_policy: [message_ttl, message_ttl]}", "is listed twice"),
        ("{message_ttl: 1s, via_policy: message_ttl}", "is not a list"),
        ("{message_ttl: 1s, exclusive: true, via_policy: [message_ttl]}", "an exclusive queue"),
        ("{type: stream, message_ttl: 1s, via_policy: [message_ttl]}", "which a stream has not"),
        (
            "{message_ttl: 1s, via_policy: [message_ttl], arguments: {x-message-ttl: 1000}}",
            "and x-message-ttl among the arguments, too",
        ),
    ],
)
def test_what_via_policy_cannot_list(queue: str, words: str) -> None:
    (fault,) = faults(f"queues:\n  q: {queue}\n")
    assert fault.startswith("f:2: queues.q")
    assert words in fault


def test_a_queue_s_own_policy_has_a_name_that_nobody_else_has() -> None:
    text = "queues:\n  q: {message_ttl: 1s, via_policy: [message_ttl]}\npolicies:\n"
    (fault,) = faults(text + "  q.policy: {pattern: x, definition: {expires: 1}}\n")
    assert "'q.policy', which is declared, too" in fault
    long = "n" * 250
    (fault,) = faults(f"queues:\n  {long}: {{message_ttl: 1s, via_policy: [message_ttl]}}\n")
    assert "over 255 bytes" in fault


def test_two_policies_of_one_priority_for_one_queue() -> None:
    same = GOOD.replace("priority: 1, ", "")
    (fault,) = faults(same)
    assert fault.startswith("f:6: policies.narrow")
    assert "both match 'q' at priority 0" in fault
    # A third one above them applies, and nobody asks which of the two would.
    third = "  top: {pattern: q, priority: 5, definition: {expires: 1}}\n"
    assert faults(same + third) == []
