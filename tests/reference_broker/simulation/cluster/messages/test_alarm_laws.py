"""alarm_laws: each law finds what breaks it, and passes what doesn't."""

from __future__ import annotations

import pytest

from reference_broker.core.alarms import Alarm
from reference_broker.simulation.cluster.folder import Folder
from reference_broker.simulation.cluster.laws import LawBroken
from reference_broker.simulation.cluster.messages.alarm_laws import TOLD_US, UNBLOCKED_US
from reference_broker.simulation.cluster.process import NodeProcess
from reference_broker.simulation.cluster.shortages import Shortage
from reference_broker.simulation.cluster.world import ClusterWorld

MESSAGE = 7


class Blocked:
    """A node that has an alarm, and a publisher of its own."""

    def __init__(self) -> None:
        self.world = ClusterWorld(0)
        self.laws = self.world.alarm_laws
        self.process = NodeProcess(self.world, "n0", Folder())
        self.world.processes["n0"] = self.process
        self.shortage = Shortage(self.process, Alarm.DISK, 0)
        self.world.shortages.all.append(self.shortage)

    def wait(self, time_us: int) -> None:
        self.world.clock.now_us += time_us


@pytest.fixture
def blocked() -> Blocked:
    return Blocked()


@pytest.mark.parametrize("how", ["answered", "delivered"])
def test_nothing_is_taken_in_an_alarm(blocked: Blocked, how: str) -> None:
    blocked.wait(TOLD_US)
    blocked.laws.sent(MESSAGE, blocked.process)
    with pytest.raises(LawBroken, match=f"message {MESSAGE} is {how}, which was published at n0"):
        blocked.laws.taken(MESSAGE, how)


def test_but_before_it_is_told_and_after_it(blocked: Blocked) -> None:
    blocked.wait(TOLD_US - 1)
    blocked.laws.sent(MESSAGE - 1, blocked.process)
    blocked.laws.taken(MESSAGE - 1, "answered")
    blocked.wait(1)
    blocked.laws.sent(MESSAGE, blocked.process)
    blocked.shortage.ended_us = blocked.world.clock.now_us
    blocked.laws.taken(MESSAGE, "answered")


def test_one_without_a_link_may_not_know(blocked: Blocked) -> None:
    other = NodeProcess(blocked.world, "n1", Folder())
    blocked.wait(TOLD_US)
    blocked.laws.sent(MESSAGE, other)
    blocked.laws.taken(MESSAGE, "answered")


def test_a_publisher_is_told(blocked: Blocked) -> None:
    blocked.wait(TOLD_US)
    blocked.laws.sent(MESSAGE, blocked.process)
    blocked.laws.hold_told(MESSAGE, is_blocked=False)
    blocked.wait(TOLD_US + 1)
    blocked.laws.hold_told(MESSAGE, is_blocked=True)
    with pytest.raises(LawBroken, match="was not told"):
        blocked.laws.hold_told(MESSAGE, is_blocked=False)


def test_nobody_is_blocked_for_nothing(blocked: Blocked) -> None:
    blocked.laws.begin()
    blocked.world.clock.run(2 * UNBLOCKED_US)
    blocked.laws.hold_blocked(blocked.process, 0, "client 1")
    blocked.shortage.ended_us = blocked.world.clock.now_us
    blocked.world.clock.run(blocked.world.clock.now_us + UNBLOCKED_US)
    blocked.laws.hold_blocked(blocked.process, 0, "client 1")
    blocked.world.clock.run(blocked.world.clock.now_us + 1_000)
    with pytest.raises(LawBroken, match="client 1 of n0 is blocked, and no node"):
        blocked.laws.hold_blocked(blocked.process, 0, "client 1")


def test_an_alarm_that_has_come_since_the_last_look_blocks(blocked: Blocked) -> None:
    blocked.wait(2 * UNBLOCKED_US)
    blocked.laws.hold_blocked(blocked.process, 0, "client 1")
