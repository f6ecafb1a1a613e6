"""Messages as a failed test tells of them."""

from __future__ import annotations

from dataclasses import replace

from mqkit import Delivery, Properties
from mqkit.testing import delivery
from mqkit.testing.shown import line_of, shown

PLAIN = Delivery("events", "order.paid", b"7", Properties(), 1, False)


def test_a_line_has_place_and_body() -> None:
    assert line_of(PLAIN) == "'events' 'order.paid', b'7'"


def test_a_line_has_the_failures() -> None:
    made = delivery("x", message_id="7", attempt=3)
    assert line_of(made) == "'' 'queue', id 7, failed 2 times, b'x'"


def test_a_long_body_is_cut() -> None:
    line = line_of(replace(PLAIN, body=b"x" * 5000))
    assert line.endswith("xxx... (5000 octets)")
    assert len(line) < 150


def test_many_are_counted() -> None:
    assert shown([]) == ""
    text = shown([PLAIN] * 13)
    assert text.count("order.paid") == 10
    assert text.endswith("\n  and 3 more")
