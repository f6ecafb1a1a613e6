"""The expected content of one queue, by the numbers of the messages."""

from __future__ import annotations

from dataclasses import dataclass, field


def body_of(number: int, size: int) -> bytes:
    """A message's body, of ``size`` bytes or a few more."""
    return b"%d " % number + bytes(size)


def number_in(body: bytes) -> int:
    """Whose body it is."""
    return int(body.partition(b" ")[0])


@dataclass(slots=True, eq=False)
class Line:
    """A queue's messages that are not gone, in the order in which they came: for each, was it
    handed out before? ``leaks`` is for a queue that may drop any message by itself."""

    name: str
    leaks: bool = False
    may_vanish: bool = False
    """Deleted by itself: with its last consumer, or with its connection."""
    is_bound: bool = False
    kept: dict[int, bool] = field(default_factory=dict)

    def arrive(self, number: int) -> None:
        """A message was routed to it."""
        self.kept[number] = False

    def hand_out(self, delivered: list[tuple[int, bool]]) -> None:
        """Note messages that one input has sent out, each with its redelivered flag."""
        for number, redelivered in delivered:
            assert number in self.kept, f"{number} of {self.name} was gone already"
            assert self.kept[number] is redelivered, f"{number} of {self.name}: {redelivered=}"
        fresh = {number for number, redelivered in delivered if not redelivered}
        if not self.leaks:
            waiting = [number for number, was_out in self.kept.items() if not was_out]
            assert fresh == set(waiting[: len(fresh)]), f"{self.name} gave {fresh} of {waiting}"
        self.kept.update(dict.fromkeys(fresh, True))

    def settle(self, number: int) -> None:
        """The message is gone for good."""
        self.kept.pop(number, None)

    def check_rest(self, found: list[int]) -> None:
        """Everything that was left was taken out: ``found``."""
        assert len(set(found)) == len(found), f"{self.name} gave twice: {found}"
        if self.leaks:
            assert set(found) <= set(self.kept)
        else:
            assert set(found) == set(self.kept), f"{self.name} holds not what it should"
        fresh = [number for number in found if not self.kept[number]]
        assert fresh == sorted(fresh, key=list(self.kept).index), f"{self.name} is out of order"
