"""command_octets: what is asked of a home, to octets and back."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.cluster.queues.command_octets import (
    SETTLED_MAX,
    Attach,
    Detach,
    Grant,
    Question,
    Settle,
    encode_attach,
    encode_detach,
    encode_grant,
    encode_question,
    encode_settle,
    read_attach,
    read_detach,
    read_grant,
    read_question,
    read_settle,
)
from reference_broker.cluster.queues.octet_reader import OctetReader
from reference_broker.core.remote.ports import Settlement, Terms
from reference_broker.errors import LinkError

_U64 = st.integers(0, (1 << 64) - 1)
_TAG = st.text(max_size=60) | st.binary(max_size=255).map(
    lambda octets: octets.decode(errors="surrogateescape")
)


def _reader(octets: bytes) -> OctetReader:
    return OctetReader(memoryview(octets))


@given(_U64, _U64, st.builds(Terms, _TAG, st.booleans(), st.booleans(), st.binary(max_size=40)))
def test_an_attach_is_what_it_was(attachment: int, queue_id: int, terms: Terms) -> None:
    reader = _reader(encode_attach(attachment, queue_id, terms))
    assert read_attach(reader) == Attach(attachment, queue_id, terms)
    assert reader.is_at_end


@given(_U64, _U64, _U64)
def test_a_grant_and_a_detach_are_what_they_were(attachment: int, some: int, more: int) -> None:
    detach = Detach(attachment, 7)
    assert read_detach(_reader(encode_detach(detach))) == detach
    read = read_grant(_reader(encode_grant(attachment, some, more)))
    assert read == Grant(attachment, some, more)


@given(_U64, st.sampled_from(Settlement), st.lists(_U64, min_size=1, max_size=9))
def test_a_settlement_is_what_it_was(queue_id: int, how: Settlement, numbers: list[int]) -> None:
    read = read_settle(_reader(encode_settle(queue_id, how, numbers)))
    assert read == Settle(queue_id, how, tuple(numbers))


@given(st.builds(Question, _U64, _U64, _U64, st.booleans()))
def test_a_question_is_what_it_was(question: Question) -> None:
    assert read_question(_reader(encode_question(question))) == question


@pytest.mark.parametrize("read", [read_attach, read_detach, read_grant, read_settle, read_question])
@given(octets=st.binary(max_size=60))
def test_any_octets_are_a_command_or_an_error_of_the_link(
    read: Callable[[OctetReader], object], octets: bytes
) -> None:
    try:
        read(_reader(octets))
    except LinkError:
        return


def test_what_is_no_settlement_or_too_large_can_not_be_read() -> None:
    for octets in (
        struct.pack(">QBIQ", 1, 5, 1, 1),
        struct.pack(">QBI", 1, 0, 0),
        struct.pack(">QBI", 1, 0, SETTLED_MAX + 1),
    ):
        with pytest.raises(LinkError, match="leases to be settled"):
            read_settle(_reader(octets))


def test_flags_that_nobody_knows_can_not_be_read() -> None:
    with pytest.raises(LinkError, match="flags 4"):
        read_attach(_reader(struct.pack(">QQBBI", 1, 1, 4, 0, 0)))
