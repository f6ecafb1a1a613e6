"""Any messages over any cuts come out equal, and in the order of their lanes."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from reference_broker.cluster.link.lane import REPLY, Lane
from reference_broker.testing.link_pair import LinkPair

LANES = (Lane.REPLICATION, Lane.PUBLISH, Lane.DELIVER)

buffers = st.one_of(
    st.binary(max_size=50),
    st.sampled_from([b"x" * 5_000, b"y" * 262_144, b"z" * 700_000]),
)
messages = st.tuples(
    st.sampled_from(LANES),
    st.integers(0, REPLY - 1),
    st.lists(buffers, min_size=1, max_size=3),
)


@settings(max_examples=40)
@given(st.lists(messages, max_size=12), st.lists(messages, max_size=12), st.integers(0, 1 << 32))
def test_any_messages_over_any_cuts(
    there: list[tuple[Lane, int, list[bytes]]],
    back: list[tuple[Lane, int, list[bytes]]],
    seed: int,
) -> None:
    pair = LinkPair(dice=Random(seed)).opened()
    for end, sent in zip(pair.ends, (there, back), strict=True):
        for lane, kind, parts in sent:
            while end.link.room(lane) <= 0:
                pair.settle()
            end.link.send(lane, kind, parts)
    pair.settle()
    for end, sent in zip(pair.ends, (back, there), strict=True):
        for lane in LANES:
            expected = [(kind, b"".join(parts)) for each, kind, parts in sent if each is lane]
            assert end.received[lane] == expected
        assert end.downs == []
