"""Fields of the gateway's JSON, there and back, and those that etcd would not send."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.runtime.etcd.fields import (
    BadAnswer,
    header_revision,
    integer,
    key,
    key_field,
    octets,
    octets_field,
    part,
    parts,
    range_fields,
    text,
)


@pytest.mark.parametrize("name", ["", "a", "/mqkit/x/ü", "no utf-8: \udcff\udc80"])
def test_a_key_comes_back(name: str) -> None:
    assert key({"k": key_field(name)}, "k") == name


def test_octets_come_back() -> None:
    every = bytes(range(256))
    assert octets({"v": octets_field(every)}, "v") == every


def test_a_field_that_is_left_out_is_zero() -> None:
    assert integer({}, "n") == 0
    assert octets({}, "n") == b""
    assert text({}, "n") == ""
    assert part({}, "n") == {}
    assert parts({}, "n") == []


def test_numbers_are_text_and_may_be_numbers() -> None:
    assert integer({"n": "9223372036854775807"}, "n") == 2**63 - 1
    assert integer({"n": "-1"}, "n") == -1
    assert integer({"n": 7}, "n") == 7


@pytest.mark.parametrize("value", [True, None, 1.5, "", "x", "9223372036854775808", "1" * 5000, []])
def test_a_number_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(BadAnswer, match="n is no number"):
        integer({"n": value}, "n")


@pytest.mark.parametrize("value", [None, 5, "a", "====", "ü", "YQ==\n"])
def test_octets_that_are_none_are_refused(value: Any) -> None:
    with pytest.raises(BadAnswer, match="v is no"):
        octets({"v": value}, "v")


@pytest.mark.parametrize("value", [5, "x", [], [5]])
def test_a_message_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(BadAnswer):
        part({"m": value}, "m")
    if value != []:
        with pytest.raises(BadAnswer):
            parts({"m": value}, "m")


def test_a_text_that_is_none_is_refused() -> None:
    with pytest.raises(BadAnswer, match="t is no text"):
        text({"t": 5}, "t")


@pytest.mark.parametrize("answer", [{}, {"header": {}}, {"header": {"revision": "-3"}}])
def test_an_answer_has_a_revision(answer: Any) -> None:
    assert header_revision({"header": {"revision": "4"}}) == 4
    with pytest.raises(BadAnswer, match="no revision"):
        header_revision(answer)


@pytest.mark.parametrize(
    ("prefix", "after", "first", "end"),
    [
        ("/m/", "", b"/m/", b"/m0"),
        ("/m/", "/m/b", b"/m/b\0", b"/m0"),
        ("a\udcff\udcff", "", b"a\xff\xff", b"b"),
        ("\udcff", "", b"\xff", b"\0"),
        ("", "", b"\0", b"\0"),
    ],
)
def test_a_range_is_all_keys_with_a_prefix(
    prefix: str, after: str, first: bytes, end: bytes
) -> None:
    fields = range_fields(prefix, after)
    assert octets(fields, "key") == first
    assert octets(fields, "range_end") == end
