"""The law that nothing is reported as damaged or lost where no bit was flipped: who is told of a
loss looks for it."""

from __future__ import annotations

from reference_broker.simulation.events.events import BitRot, Losses, Start
from reference_broker.simulation.watch.checkers.checker import Checker


class FalseAlarmChecker(Checker):
    name = "false alarm"

    def __init__(self) -> None:
        self._is_rotten = False

    def bit_flipped(self, rot: BitRot) -> None:
        self._is_rotten = True

    def started(self, start: Start) -> None:
        if self._is_rotten:
            return
        if start.damaged:
            raise self.fail("a start reports damage, and no bit was flipped")
        if start.lost or start.orphans:
            lost = sum(start.lost.values()) + start.orphans
            raise self.fail(f"a start reports {lost} lost messages, and no bit was flipped")

    def life_ended(self, losses: Losses) -> None:
        for queue, counts in losses.items():
            if counts["damaged"] and not self._is_rotten:
                raise self.fail(
                    f"'{queue}' has lost {counts['damaged']} messages, and no bit was flipped"
                )
