"""Two nodes that send each other all that they can: nobody waits for ever, whatever the schedule.

Each publishes to the other, takes what comes at random times, and confirms it then. Replication and
deliveries go on beside it. The windows are small, so that they are full most of the time.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from random import Random

import pytest

from reference_broker.cluster.link.lane import REPLY, WINDOWS, Lane
from reference_broker.testing.link_pair import LinkEnd, LinkPair

MESSAGES = 150
WINDOW_BYTES = 4_096
STEPS_MAX = 200_000

LANES = (Lane.PUBLISH, Lane.REPLICATION, Lane.DELIVER)

PUBLISHED, CONFIRMED = 1, REPLY


class Node:
    """A node that publishes, confirms, replicates and delivers over its end."""

    def __init__(self, end: LinkEnd, dice: Random) -> None:
        self.end = end
        self.dice = dice
        self.sent: dict[Lane, int] = dict.fromkeys(LANES, 0)
        for lane in self.sent:
            end.takes[lane] = False

    @property
    def is_done(self) -> bool:
        """True once all has come that the other one sends, and each publish is confirmed."""
        return sum(len(self.end.received[lane]) for lane in LANES) == MESSAGES * (len(LANES) + 1)

    def send(self, lane: Lane) -> bool:
        number = self.sent[lane]
        if number == MESSAGES or self.end.link.room(lane) <= 0:
            return False
        size = self.dice.choice((0, 10, 500, 1_000, 3_000, 6_000))
        self.end.link.send(lane, PUBLISHED, (number.to_bytes(4, "big"), bytes(size)))
        self.sent[lane] += 1
        return True

    def take(self) -> bool:
        """Be done with the next message; a publish is confirmed with it."""
        held = self.end.held
        at = next((at for at, (_, kind, _) in enumerate(held) if kind == CONFIRMED), 0)
        if not held:
            return False
        lane, kind, _ = held[at]
        if lane is Lane.PUBLISH and kind == PUBLISHED:
            self.end.link.send(lane, CONFIRMED, (b"",))
        held.insert(0, held.pop(at))
        self.end.take_held()
        return True


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    for lane in WINDOWS:
        monkeypatch.setitem(WINDOWS, lane, WINDOW_BYTES)


@pytest.mark.usefixtures("small_windows")
def test_a_reply_passes_where_both_windows_are_full() -> None:
    """Each node takes a publish only when one of its own is confirmed, as one does that publishes
    on what it was sent. A confirm that had to wait for credit would never come."""
    pair = LinkPair().opened()
    for end in pair.ends:
        end.takes[Lane.PUBLISH] = False
        for _ in range(50):
            end.link.send(Lane.PUBLISH, PUBLISHED, (bytes(1_000),))
    pair.settle()
    assert all(end.link.is_stalled(Lane.PUBLISH) for end in pair.ends)
    for end in pair.ends:
        end.link.send(Lane.PUBLISH, CONFIRMED & ~REPLY, (b"waits",))
        end.link.send(Lane.PUBLISH, CONFIRMED, (b"passes",))
    pair.settle()
    for end in pair.ends:
        assert end.received[Lane.PUBLISH][-1] == (CONFIRMED, b"passes")


def arrived(end: LinkEnd, lane: Lane) -> list[int]:
    return [
        int.from_bytes(payload[:4], "big")
        for kind, payload in end.received[lane]
        if kind == PUBLISHED
    ]


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("run", range(8))
def test_everything_arrives_and_is_confirmed(run: int) -> None:
    seed = secrets.randbits(32)
    print(f"random seed {seed}")
    dice = Random(seed)
    pair = LinkPair(dice=dice).opened()
    nodes = [Node(end, dice) for end in pair.ends]
    moves: list[Callable[[], bool]] = [end.send for end in pair.ends]
    moves += [partial(pair.deliver, end) for end in pair.ends]
    moves += [node.take for node in nodes]
    moves += [partial(node.send, lane) for node in nodes for lane in LANES]
    weights = [dice.choice((1, 1, 5, 25)) for _ in moves]
    idle = 0
    for _ in range(STEPS_MAX):
        if all(node.is_done for node in nodes):
            break
        idle = 0 if dice.choices(moves, weights)[0]() else idle + 1
        if idle > 50:  # by chance, or nobody can: ask all of them
            assert sum(move() for move in moves), "nobody can do anything, and not all is done"
            idle = 0
    for end in pair.ends:
        assert end.downs == []
        for lane in LANES:
            assert arrived(end, lane) == list(range(MESSAGES))
        assert sum(kind == CONFIRMED for kind, _ in end.received[Lane.PUBLISH]) == MESSAGES


@pytest.mark.usefixtures("small_windows")
def test_replication_goes_on_while_nobody_takes_a_publish_or_a_delivery() -> None:
    pair = LinkPair().opened()
    for end in pair.ends:
        end.takes[Lane.PUBLISH] = end.takes[Lane.DELIVER] = False
    for number in range(500):
        for end in pair.ends:
            for lane in LANES:
                if end.link.room(lane) > 0:
                    end.link.send(lane, PUBLISHED, (number.to_bytes(4, "big"), bytes(3_000)))
        pair.settle()
    for end in pair.ends:
        assert arrived(end, Lane.REPLICATION) == list(range(500))
        assert len(arrived(end, Lane.PUBLISH)) == len(arrived(end, Lane.DELIVER)) == 2
