"""The size of portions, for the time of a block."""

from __future__ import annotations

import pytest

from reference_broker.runtime.net import connection_protocol, paced_output
from reference_broker.simulation.machine.portions import small_portions


def sizes() -> tuple[int, int, int]:
    return (
        paced_output.PORTION_BYTES,
        paced_output.JOINED_BYTES_MAX,
        connection_protocol.READ_BYTES_PER_TURN,
    )


def test_they_are_what_they_were_after_the_block() -> None:
    before = sizes()
    with pytest.raises(ZeroDivisionError), small_portions(90):
        assert sizes() == (90, 180, 90)
        raise ZeroDivisionError
    assert sizes() == before
    with small_portions(paced_output.PORTION_BYTES):
        assert sizes() == before
