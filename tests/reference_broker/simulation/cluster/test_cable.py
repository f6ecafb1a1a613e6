"""cable: bytes arrive in order, and get stuck in a cut."""

from __future__ import annotations

from random import Random

from reference_broker.simulation.cluster.cable import Cables, Connection
from reference_broker.simulation.events.clock import SimulatedClock


class Ends:
    """A connection from a to b, and what has come at b."""

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.cables = Cables(self.clock, Random(1))
        self.connection = Connection(self.clock, self.cables, "a", "b")
        self.came: list[bytes | None] = []
        self.connection.attach("b", self.came.append)

    def forward(self) -> None:
        self.clock.run(self.clock.now_us + 1_000_000)


def test_bytes_arrive_in_their_order_and_the_end_behind_them() -> None:
    ends = Ends()
    for number in range(50):
        ends.connection.send("a", b"%d" % number)
    ends.connection.send("a", None)
    ends.forward()
    assert ends.came == [*(b"%d" % number for number in range(50)), None]


def test_what_meets_a_cut_arrives_when_it_is_healed() -> None:
    ends = Ends()
    for number in range(20):
        ends.connection.send("a", b"%d" % number)
    ends.cables.cut("a", "b")
    ends.forward()
    assert ends.came == []
    assert ends.cables.is_cut("a", "b")
    assert not ends.cables.is_cut("b", "a")
    ends.cables.heal()
    ends.connection.send("a", b"later")
    ends.forward()
    assert ends.came == [*(b"%d" % number for number in range(20)), b"later"]
    assert ends.cables.counts["bytes stuck in a cut"] == 20


def test_a_cut_is_of_one_way() -> None:
    ends = Ends()
    ends.cables.cut("b", "a")
    ends.connection.send("a", b"x")
    ends.forward()
    assert ends.came == [b"x"]


def test_nobody_reads_what_comes_to_an_end_that_is_not_attached() -> None:
    ends = Ends()
    ends.connection.send("b", b"x")
    ends.forward()
    assert ends.came == []
