"""answer_octets: what a home answers, to octets and back."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.cluster.queues.answer_octets import (
    encode_counted,
    encode_delivery,
    encode_error,
    encode_got,
    encode_number,
    encode_purged,
    read_counted,
    read_delivery,
    read_error,
    read_got,
    read_number,
    read_purged,
)
from reference_broker.cluster.queues.octet_reader import OctetReader
from reference_broker.core.remote.ports import Counts, Got, Purged
from reference_broker.errors import ChannelException, LinkError, ReplyCode
from reference_broker.testing.homes.noting_taker import message

_U64 = st.integers(0, (1 << 64) - 1)
_READERS = [read_number, read_error, read_delivery, read_got, read_counted, read_purged]


def _reader(octets: bytes) -> OctetReader:
    return OctetReader(memoryview(octets))


@given(_U64, _U64, st.booleans(), st.binary(max_size=50))
def test_a_delivery_is_what_it_was(
    attachment: int, number: int, redelivered: bool, body: bytes
) -> None:
    reader = _reader(b"".join(encode_delivery(attachment, number, redelivered, message(body))))
    read = read_delivery(reader)
    assert (read.attachment, read.number, read.redelivered) == (attachment, number, redelivered)
    assert read.content.body == body
    assert reader.is_at_end


@given(_U64, _U64, st.booleans(), _U64)
def test_an_answer_to_a_get_is_what_it_was(
    token: int, number: int, redelivered: bool, left: int
) -> None:
    got = Got(number, redelivered, message(), left)
    read_token, read = read_got(_reader(b"".join(encode_got(token, got))))
    assert read_token == token
    assert read._replace(content=None) == got._replace(content=None)
    assert read.content is not None
    assert read.content.body == b"body"


@given(_U64, st.lists(_U64, min_size=4, max_size=4))
def test_counts_and_numbers_are_what_they_were(token: int, numbers: list[int]) -> None:
    counts = Counts(*numbers)
    assert read_counted(_reader(encode_counted(token, counts))) == (token, counts)
    purged = Purged(numbers[0])
    assert read_purged(_reader(encode_purged(token, purged))) == (token, purged)
    assert read_number(_reader(encode_number(token))) == token


@given(_U64, st.sampled_from(ReplyCode), st.text(max_size=300))
def test_an_error_is_what_it_was(token: int, code: ReplyCode, text: str) -> None:
    number, error = read_error(_reader(encode_error(token, ChannelException(code, text))))
    assert (number, error.code, error.text) == (token, code, text)


def test_the_text_of_an_error_is_bounded() -> None:
    error = ChannelException(ReplyCode.NOT_FOUND, "\N{SNOWMAN}" * 2_000)
    _, read = read_error(_reader(encode_error(1, error)))
    assert read.text.startswith("\N{SNOWMAN}" * 1_365)
    assert len(read.text.encode(errors="surrogateescape")) == 4_096


def test_a_reply_code_that_nobody_knows_can_not_be_read() -> None:
    with pytest.raises(LinkError, match="reply code 999"):
        read_error(_reader(struct.pack(">QHH", 1, 999, 0)))


@pytest.mark.parametrize("read", _READERS)
@given(octets=st.binary(max_size=80))
def test_any_octets_are_an_answer_or_an_error_of_the_link(
    read: Callable[[OctetReader], object], octets: bytes
) -> None:
    try:
        read(_reader(octets))
    except LinkError:
        return
