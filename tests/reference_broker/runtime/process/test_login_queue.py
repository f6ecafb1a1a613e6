"""login_queue: who has logged in rightly is not behind strangers that don't."""

from __future__ import annotations

from reference_broker.runtime.process.login_queue import (
    ORIGINS_MAX,
    TURNS_BEFORE_WORSE,
    WRONG_MAX,
    LoginQueue,
    Standing,
    Standings,
)


def emptied(queue: LoginQueue[str]) -> list[str]:
    items = []
    while (item := queue.pop()) is not None:
        items.append(item)
    return items


def test_a_standing_follows_the_logins() -> None:
    standings = Standings()
    assert standings.of("10.0.0.1") is Standing.NEW
    standings.wrong("10.0.0.1")
    assert standings.of("10.0.0.1") is Standing.WRONG
    standings.right("10.0.0.1")
    for _ in range(WRONG_MAX):
        assert standings.of("10.0.0.1") is Standing.KNOWN
        standings.wrong("10.0.0.1")
    assert standings.of("10.0.0.1") is Standing.WRONG
    standings.right("10.0.0.1")
    assert standings.of("10.0.0.1") is Standing.KNOWN


def test_standings_are_bounded_and_strangers_push_no_user_out() -> None:
    standings = Standings()
    standings.right("127.0.0.1")
    for number in range(ORIGINS_MAX + 1):
        standings.wrong(f"stranger {number}")
    assert standings.of("127.0.0.1") is Standing.KNOWN
    assert standings.of("stranger 0") is Standing.NEW
    assert standings.of("stranger 1") is Standing.WRONG
    for number in range(ORIGINS_MAX):
        standings.right(f"user {number}")
    assert standings.of("127.0.0.1") is Standing.NEW


def test_a_known_address_is_before_a_hundred_strangers() -> None:
    queue: LoginQueue[str] = LoginQueue()
    for number in range(100):
        queue.push(Standing.NEW, f"10.0.0.{number}", "new")
        queue.push(Standing.WRONG, f"10.0.1.{number}", "wrong")
    queue.push(Standing.KNOWN, "127.0.0.1", "known")
    assert queue.pop() == "known"
    assert len(queue) == 200


def test_a_new_address_is_before_a_hundred_with_wrong_logins() -> None:
    queue: LoginQueue[str] = LoginQueue()
    for number in range(100):
        queue.push(Standing.WRONG, f"10.0.1.{number}", "wrong")
    queue.push(Standing.NEW, "10.0.0.1", "new")
    assert queue.pop() == "new"


def test_the_worse_have_turns_too() -> None:
    queue: LoginQueue[str] = LoginQueue()
    for _ in range(100):
        queue.push(Standing.KNOWN, "a", "known")
    for _ in range(3):
        queue.push(Standing.NEW, "b", "new")
        queue.push(Standing.WRONG, "c", "wrong")
    order = emptied(queue)
    assert len(order) == 106
    assert order.index("new") == TURNS_BEFORE_WORSE
    assert order.index("wrong") == TURNS_BEFORE_WORSE + 1
    assert "wrong" in order[:10]
    assert [each for each in order[:25] if each != "known"].count("new") == 3


def test_within_a_standing_lanes_take_turns() -> None:
    queue: LoginQueue[str] = LoginQueue()
    for item in ("a1", "a2", "a3", "b1"):
        queue.push(Standing.WRONG, item[0], item)
    assert emptied(queue) == ["a1", "b1", "a2", "a3"]


def test_room_is_made_by_the_worst() -> None:
    queue: LoginQueue[str] = LoginQueue()
    queue.push(Standing.NEW, "new", "n1")
    queue.push(Standing.WRONG, "few", "w1")
    for number in range(3):
        queue.push(Standing.WRONG, "many", f"m{number}")
    assert queue.displace(Standing.KNOWN, "known") == "m2"
    assert queue.displace(Standing.WRONG, "few") == "m1"
    assert queue.displace(Standing.WRONG, "many") is None
    assert queue.displace(Standing.NEW, "new") in ("m0", "w1")
    assert queue.displace(Standing.NEW, "new") in ("m0", "w1")
    assert queue.displace(Standing.NEW, "new") is None
    assert queue.displace(Standing.KNOWN, "known") == "n1"
    assert queue.displace(Standing.KNOWN, "known") is None


def test_what_nobody_wants_is_dropped() -> None:
    queue: LoginQueue[str] = LoginQueue()
    for standing in Standing:
        queue.push(standing, "a", standing.name)
    assert queue.drop(lambda item: item != "NEW") == ["KNOWN", "WRONG"]
    assert emptied(queue) == ["NEW"]
