"""The decoder of streams: any chunks give the same messages, and what it holds has a bound."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.runtime.etcd.fields import BadAnswer, Message
from reference_broker.runtime.etcd.json_lines import JsonLines, TooLong, json_object

MESSAGES = [{"result": {"n": n, "text": "a\nb" * n}} for n in range(5)]
STREAM = b"".join(json.dumps(each).encode() + b"\n" for each in MESSAGES)


def list_of(lines: JsonLines, chunk: bytes) -> list[Message]:
    return list(lines.feed(chunk))


@given(st.lists(st.integers(0, len(STREAM))))
def test_a_chunk_is_never_a_message(cuts: list[int]) -> None:
    lines = JsonLines()
    ends = [*sorted(cuts), len(STREAM)]
    begin = 0
    found: list[Message] = []
    for end in ends:
        found += lines.feed(STREAM[begin:end])
        begin = end
    assert found == MESSAGES


def test_an_empty_line_is_no_message() -> None:
    assert list_of(JsonLines(), b'\n\r\n{"a":1}\r\n\n') == [{"a": 1}]


def test_a_message_is_told_when_its_newline_is_there() -> None:
    lines = JsonLines()
    assert list_of(lines, b'{"a":1}') == []
    assert list_of(lines, b"\n") == [{"a": 1}]


def test_a_message_has_a_bound_that_others_do_not_count_for() -> None:
    lines = JsonLines(octets_max=10)
    assert list_of(lines, b'{"a":123}\n' * 50 + b'{"b":') == [{"a": 123}] * 50
    assert list_of(lines, b"1234}\n") == [{"b": 1234}]
    with pytest.raises(TooLong, match="more than 10 octets"):
        list_of(lines, b'{"a":12345}\n')


def test_a_message_without_an_end_is_not_held() -> None:
    lines = JsonLines(octets_max=10)
    list_of(lines, b" " * 10)
    with pytest.raises(TooLong):
        list_of(lines, b" ")


def test_what_came_before_a_bad_message_is_told() -> None:
    told = JsonLines().feed(b'{"a":1}\nnonsense\n{"b":1}\n')
    assert next(told) == {"a": 1}
    with pytest.raises(BadAnswer):
        next(told)


@pytest.mark.parametrize(
    "line", [b"{", b"[1]", b"5", b"\xff", b'{"n":' + b"9" * 5000 + b"}", b"[" * 100_000]
)
def test_what_is_no_object_is_refused(line: bytes) -> None:
    with pytest.raises(BadAnswer, match="it is no JSON"):
        list_of(JsonLines(), line + b"\n")
    with pytest.raises(BadAnswer):
        json_object(line)
