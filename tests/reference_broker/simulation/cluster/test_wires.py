"""wires: messages arrive in order, unless the wire is cut."""

from __future__ import annotations

from random import Random

from reference_broker.simulation.cluster.wires import Wires
from reference_broker.simulation.events.clock import SimulatedClock


def test_messages_of_one_wire_arrive_in_their_order() -> None:
    clock, arrived = SimulatedClock(), list[int]()
    wires = Wires(clock, Random(1))
    for number in range(50):
        wires.send("a", "b", lambda number=number: arrived.append(number))  # type: ignore[misc]
    clock.run(1_000_000)
    assert arrived == list(range(50))


def test_a_cut_is_of_one_way_and_takes_what_is_under_way() -> None:
    clock, arrived = SimulatedClock(), list[str]()
    wires = Wires(clock, Random(1))
    wires.send("a", "b", lambda: arrived.append("before the cut"))
    wires.cut("a", "b")
    wires.send("b", "a", lambda: arrived.append("the other way"))
    clock.run(1_000_000)
    assert (arrived, wires.counts["messages lost"]) == (["the other way"], 1)
    wires.heal()
    wires.send("a", "b", lambda: arrived.append("healed"))
    clock.run(2_000_000)
    assert arrived[1:] == ["healed"]
