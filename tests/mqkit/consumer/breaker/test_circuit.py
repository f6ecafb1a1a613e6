"""The decisions of a circuit: growing waits, and probes enough in a row."""

from __future__ import annotations

import pytest

from mqkit.consumer.breaker.circuit import (
    GIVEN_BACK_MAX,
    PROBE_FIRST_S,
    PROBE_MAX_S,
    Circuit,
    probes_for,
)
from mqkit.consumer.breaker.states import State


def test_waits_grow_to_the_ceiling_and_are_short_again_when_it_has_closed() -> None:
    circuit = Circuit(1, rng=lambda: 1.0)
    waits, states = [], []
    for _ in range(8):
        waits.append(circuit.unavailable())
        states.append(circuit.state)
        circuit.due()
        states.append(circuit.state)
    assert states == [State.OPEN, State.HALF_OPEN] * 8
    assert waits == [PROBE_FIRST_S * 2**n for n in range(6)] + [PROBE_MAX_S] * 2
    circuit.handled()
    assert circuit.state == State.CLOSED
    assert circuit.unavailable() == PROBE_FIRST_S


def test_it_closes_after_probes_in_a_row() -> None:
    circuit = Circuit(2, rng=lambda: 1.0)
    circuit.unavailable()
    circuit.due()
    circuit.handled()
    assert circuit.unavailable() == 2 * PROBE_FIRST_S
    circuit.due()
    states = []
    for _ in range(2):
        circuit.handled()
        states.append(circuit.state)
    assert states == [State.HALF_OPEN, State.CLOSED]


@pytest.mark.parametrize(
    ("prefetch", "probes"), [(1, 1), (10, 1), (11, 2), (80, 8), (65_535, 6554)]
)
def test_the_last_message_of_a_prefetch_comes_to_its_turn_in_time(
    prefetch: int, probes: int
) -> None:
    assert probes_for(prefetch) == probes
    assert probes * GIVEN_BACK_MAX >= prefetch
