"""The id of a trace, from headers that others have written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.consumer.observing.trace_id import HEADER_CHARS_MAX, trace_id_of

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


def parsed(header: object) -> str | None:
    return trace_id_of({"traceparent": header})


@pytest.mark.parametrize(
    "header",
    [
        f"00-{TRACE}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-00",
        f"00-{TRACE}-{PARENT}-01".encode(),
        bytearray(f"00-{TRACE}-{PARENT}-01".encode()),
        f"cc-{TRACE}-{PARENT}-01-what the future will be like",
    ],
    ids=["sampled", "not sampled", "octets", "other octets", "a later version"],
)
def test_it_is_found(header: object) -> None:
    assert parsed(header) == TRACE


@pytest.mark.parametrize(
    "header",
    [
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01-more",
        f"cc-{TRACE}-{PARENT}-01more",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}",
        f" 00-{TRACE}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01\n",
        f"cc-{TRACE}-{PARENT}-01-{'x' * HEADER_CHARS_MAX}",
        "",
        None,
        7,
        ["00"],
        b"\xff" * 55,
    ],
    ids=lambda header: repr(header)[:60],
)
def test_anything_else_is_none(header: object) -> None:
    assert parsed(header) is None


def test_without_a_header_there_is_none() -> None:
    assert trace_id_of({}) is None


@given(
    st.text() | st.binary() | st.from_regex(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
)
def test_nothing_but_an_id_comes_of_it(header: object) -> None:
    found = parsed(header)
    assert found is None or (len(found) == 32 and set(found) <= set("0123456789abcdef"))
