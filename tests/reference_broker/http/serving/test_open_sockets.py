"""open_sockets: the one that waits longest makes room, and nobody who is being answered."""

from __future__ import annotations

from reference_broker.http.serving.open_sockets import (
    SOCKETS_MAX,
    SOCKETS_PER_ADDRESS_MAX,
    OpenSockets,
)
from reference_broker.http.serving.request_slots import CHECKS_MAX, REQUESTS_MAX


class Socket:
    def __init__(self, *, is_waiting: bool = True) -> None:
        self.is_waiting = is_waiting
        self.is_open = True

    def make_room(self) -> None:
        self.is_open = False


def test_one_address_makes_room_for_itself() -> None:
    sockets = OpenSockets()
    mine = [Socket() for _ in range(SOCKETS_PER_ADDRESS_MAX)]
    for each in mine:
        assert sockets.enter(each, "10.0.0.1")
    other = Socket()
    assert sockets.enter(other, "10.0.0.2")
    for opened in range(1, 4):
        assert sockets.enter(Socket(), "10.0.0.1")
        assert [each.is_open for each in mine].count(False) == opened
    assert not any(each.is_open for each in mine[:3])
    assert other.is_open
    assert len(sockets) == SOCKETS_PER_ADDRESS_MAX + 1


def test_the_address_with_most_makes_room_for_another() -> None:
    sockets = OpenSockets()
    crowd = [Socket() for _ in range(SOCKETS_PER_ADDRESS_MAX)]
    for each in crowd:
        sockets.enter(each, "10.0.0.1")
    lone = [Socket() for _ in range(SOCKETS_MAX - len(crowd))]
    for number, each in enumerate(lone):
        sockets.enter(each, f"10.1.0.{number}")
    assert sockets.enter(Socket(), "127.0.0.1")
    assert not crowd[0].is_open
    assert all(each.is_open for each in (*crowd[1:], *lone))
    assert len(sockets) == SOCKETS_MAX


def test_who_is_being_answered_stays() -> None:
    sockets = OpenSockets()
    busy = [Socket(is_waiting=False) for _ in range(SOCKETS_PER_ADDRESS_MAX - 1)]
    for each in busy:
        sockets.enter(each, "10.0.0.1")
    waiting = Socket()
    sockets.enter(waiting, "10.0.0.1")
    assert sockets.enter(Socket(is_waiting=False), "10.0.0.1")
    assert not waiting.is_open
    assert not sockets.enter(Socket(), "10.0.0.1")
    assert all(each.is_open for each in busy)


def test_an_answer_makes_a_socket_the_newest() -> None:
    sockets = OpenSockets()
    mine = [Socket() for _ in range(SOCKETS_PER_ADDRESS_MAX)]
    for each in mine:
        sockets.enter(each, "10.0.0.1")
    sockets.again(mine[0], "10.0.0.1")
    sockets.enter(Socket(), "10.0.0.1")
    assert mine[0].is_open
    assert not mine[1].is_open


def test_a_socket_leaves_once() -> None:
    sockets = OpenSockets()
    one = Socket()
    sockets.enter(one, "10.0.0.1")
    sockets.leave(one, "10.0.0.1")
    sockets.leave(one, "10.0.0.1")
    sockets.again(one, "10.0.0.1")
    assert len(sockets) == 0


def test_there_are_always_sockets_that_wait() -> None:
    assert SOCKETS_MAX > REQUESTS_MAX + CHECKS_MAX
