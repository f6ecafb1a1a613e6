"""Each promise is missed by what breaks it, and kept by what doesn't."""

from __future__ import annotations

from collections import Counter

import pytest

from interop.archives import judgement
from interop.archives.judgement import Arrival
from interop.archives.octets import encoded, table

WANTED = [b"a", b"b", b"c"]
NAMES = ["m0", "m1", "m2"]


def arrivals(*numbers: int | None) -> list[Arrival]:
    return [Arrival(number, is_same=True) for number in numbers]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (WANTED, []),
        (WANTED[:2], ["here: 2 messages, not 3"]),
        ([*WANTED, b"a"], ["here: 4 messages, not 3"]),
        ([b"a", b"c", b"b"], ["here: message 1 is another one, or is not as it was"]),
    ],
)
def test_equal_and_in_order(found: list[bytes], said: list[str]) -> None:
    assert list(judgement.differs(WANTED, found, "here")) == said


def test_nowhere() -> None:
    assert not list(judgement.lost(WANTED, [{b"a"}, {b"a", b"b", b"c"}], "then"))
    assert list(judgement.lost(WANTED, [{b"a"}, {b"c"}], "then")) == [
        "then: 1 are neither in a file nor in the lot, first 1"
    ]


@pytest.mark.parametrize(
    ("found", "told", "kills", "said"),
    [
        (arrivals(0, 1, 2), [], 0, []),
        (arrivals(0, 1, 1, 2), ["m1", "m2"], 1, []),
        (arrivals(0, 1, 1, 2), ["m2"], 1, ["m1 was sent 2 times, and named 0 times"]),
        (arrivals(0, 1, 1, 2), ["m1"], 0, ["1 were sent again in 0 kills"]),
        (arrivals(0, 2), [], 0, ["1 were never sent, such as m1"]),
        (arrivals(0, 2, 1), [], 0, ["not in the order of the lot"]),
        (arrivals(0, 1, None, 2), [], 0, ["1 messages that nobody has made"]),
        ([*arrivals(0, 1), Arrival(2, is_same=False)], [], 0, ["1 messages are not as they were"]),
    ],
)
def test_replays(found: list[Arrival], told: list[str], kills: int, said: list[str]) -> None:
    faults = list(judgement.replayed(NAMES, found, Counter(told), kills))
    assert len(faults) == len(said)
    for fault, words in zip(faults, said, strict=True):
        assert words in fault


def test_names_on_stderr() -> None:
    err = (
        "mqkit: an earlier run may have sent 2 of these already: m1, sha256:0a (no id)\n"
        "mqkit: something else\n"
        "mqkit: an earlier run may have sent 1 of these already: m7\n"
    )
    assert judgement.repeated_names(err) == ["m1", "sha256:0a (no id)", "m7"]


def test_a_message_before_and_after_a_replay() -> None:
    death: tuple[str, tuple[str, list[str]]] = ("x-death", ("A", []))
    size = ("size", ("s", 5))
    before = encoded({"user_id": "guest", "type": "t"}, table([size, death]))
    after = encoded({"type": "t"}, table([size, ("x-mqkit-replays", ("I", 1))]))
    assert judgement.is_same((before, b"x"), (after, b"x"))
    assert not judgement.is_same((before, b"x"), (after, b"y"))
    for properties, header in (
        ({"type": "t"}, ("size", ("I", 5))),
        ({"type": "u"}, size),
        ({"type": "t"}, ("size", ("s", 6))),
        ({"type": "t"}, ("x-mqkit-original-cc", ("s", 5))),
    ):
        other = encoded(properties, table([header]))
        assert not judgement.is_same((before, b"x"), (other, b"x"))


def test_memory_is_that_of_a_window() -> None:
    slack = judgement.PEAK_SLACK_KIB
    assert not list(judgement.grows("restore", 1000, 1000 + slack))
    assert list(judgement.grows("restore", 1000, 1001 + slack))
    assert not list(judgement.grows("restore", 1000, 1001 + slack, known=4))
