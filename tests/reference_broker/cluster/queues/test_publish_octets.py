"""publish_octets: publishes and their answers, to octets and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.cluster.queues.octet_reader import OctetReader
from reference_broker.cluster.queues.publish_octets import (
    encode_numbers,
    encode_publish,
    read_numbers,
    read_publish,
)
from reference_broker.errors import LinkError
from reference_broker.testing.homes.noting_taker import message

_U64 = st.integers(0, (1 << 64) - 1)


@given(number=_U64, queue_ids=st.lists(_U64, min_size=1, max_size=5), body=st.binary(max_size=50))
def test_a_publish_is_what_it_was(number: int, queue_ids: list[int], body: bytes) -> None:
    content = message(body)
    octets = b"".join(encode_publish(number, queue_ids, content)) * 2
    reader = OctetReader(memoryview(octets))
    for _ in range(2):
        read = read_publish(reader)
        assert (read.number, list(read.queue_ids)) == (number, queue_ids)
        assert (read.content.route, read.content.header) == (content.route, content.header)
        assert read.content.body == body
    assert reader.is_at_end


@given(octets=st.binary(max_size=100))
def test_any_octets_are_a_publish_or_an_error_of_the_link(octets: bytes) -> None:
    try:
        read_publish(OctetReader(memoryview(octets)))
    except LinkError:
        return


def test_an_answer_to_a_reply_consumer_is_for_no_queue() -> None:
    octets = b"".join(encode_publish(7, [], message()))
    assert read_publish(OctetReader(memoryview(octets))).queue_ids == ()


@given(numbers=st.lists(_U64, min_size=1, max_size=10))
def test_numbers_are_what_they_were(numbers: list[int]) -> None:
    assert list(read_numbers(memoryview(encode_numbers(numbers)))) == numbers


@pytest.mark.parametrize("octets", [b"", b"1234567", b"123456789"])
def test_numbers_are_whole(octets: bytes) -> None:
    with pytest.raises(LinkError, match="can't be read"):
        read_numbers(memoryview(octets))
