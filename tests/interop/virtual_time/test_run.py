"""A short form of the rounds by the virtual clock; `make clock` plays a thousand by each client."""

from __future__ import annotations

import pytest

from interop.virtual_time.plot import EXPECTED
from interop.virtual_time.run import CLIENTS, difference, play

ROUNDS = 20


@pytest.mark.parametrize("client", CLIENTS)
def test_every_round_is_the_same(client: str) -> None:
    assert play(client, ROUNDS).faults == ()


def test_what_is_different_is_told() -> None:
    late = (*EXPECTED[:-1], ("parked", 520.01))
    assert difference(late) == "number 11 is parked at 520.01 s, not parked at 520 s"
    assert difference(EXPECTED[:-1]) == "10 things happened, not 11"
