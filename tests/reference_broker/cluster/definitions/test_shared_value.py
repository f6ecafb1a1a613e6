"""shared_value: what is written comes back, and what is cut off is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.cluster.definitions.shared_value import SharedValue, decode, encode
from reference_broker.errors import Corrupt

REVISIONS = st.integers(0, 2**63)
NAMES = st.text(st.characters(codec="utf-8"), max_size=12)
VALUES = st.builds(
    SharedValue,
    body=st.binary(max_size=40),
    made_at=REVISIONS,
    speaks_of=st.lists(st.tuples(NAMES, REVISIONS), max_size=3).map(tuple),
    home=NAMES,
    run=REVISIONS,
)


@given(VALUES)
def test_it_comes_back(value: SharedValue) -> None:
    assert decode(encode(value)) == value


@given(VALUES, st.data())
def test_what_is_cut_off_is_refused(value: SharedValue, data: st.DataObject) -> None:
    octets = encode(value)
    head = len(octets) - len(value.body)
    with pytest.raises(Corrupt):
        decode(octets[: data.draw(st.integers(0, head - 1))])


def test_what_is_no_text_and_another_layout_are_refused() -> None:
    octets = encode(SharedValue(b"", home="ab"))
    with pytest.raises(Corrupt, match="can't be read"):
        decode(octets.replace(b"ab", b"\xff\xff"))
    with pytest.raises(Corrupt, match="layout 7"):
        decode(b"\x07" + octets[1:])
