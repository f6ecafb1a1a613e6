"""Sockets that are gone: ended in portions, in order."""

from __future__ import annotations

from reference_broker.runtime.net.lost_sockets import ENDS_PER_TURN, LostSockets


class Socket:
    def __init__(self, number: int, ended: list[int]) -> None:
        self.number = number
        self.ended = ended

    def end(self) -> None:
        self.ended.append(self.number)


def test_they_are_ended_in_portions_and_in_order() -> None:
    lost, ended = LostSockets(), list[int]()
    for number in range(2 * ENDS_PER_TURN + 1):
        lost.add(Socket(number, ended))
    counts = []
    while lost:
        lost.end_some()
        counts.append(len(ended))
    assert counts == [ENDS_PER_TURN, 2 * ENDS_PER_TURN, 2 * ENDS_PER_TURN + 1]
    assert ended == list(range(2 * ENDS_PER_TURN + 1))


def test_one_that_goes_while_another_is_ended_waits() -> None:
    lost, ended = LostSockets(), list[int]()

    class Chained(Socket):
        def end(self) -> None:
            super().end()
            lost.add(Socket(self.number + 1, ended))

    lost.add(Chained(1, ended))
    lost.end_some()
    assert ended == [1]
    lost.end_some()
    assert ended == [1, 2]
    assert not lost
