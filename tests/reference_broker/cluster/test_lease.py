"""The lease: renewed in time, silent while the loop stands, granted again, given back."""

from __future__ import annotations

import pytest

from reference_broker.cluster.lease import (
    RETRY_S,
    STANDING_S,
    Grant,
    Lease,
    LeaseState,
    Renew,
    Request,
    Revoke,
)

TTL_S = 6


class Node:
    """A lease, its clock, a main loop that goes round or stands, and all that it was told."""

    def __init__(self) -> None:
        self.now = 100.0
        self.beat_at = self.now
        self.stands = False
        self.told: list[tuple[str, int]] = []
        self.lease = Lease(TTL_S, self, self.now)

    def lease_granted(self, lease: int) -> None:
        self.told.append(("granted", lease))

    def lease_ended(self, lease: int) -> None:
        self.told.append(("ended", lease))

    def at(self, seconds: float) -> Request | None:
        """The request at ``seconds`` after the start."""
        self.now = 100.0 + seconds
        if not self.stands:
            self.beat_at = self.now
        return self.lease.tick(self.now, self.beat_at)


@pytest.fixture
def node() -> Node:
    """A node that was granted lease 7 at the start."""
    node = Node()
    assert node.at(0) == Grant(TTL_S)
    node.lease.granted(7, TTL_S)
    return node


def test_a_lease_is_granted_once_and_renewed_each_third_of_its_time(node: Node) -> None:
    assert node.told == [("granted", 7)]
    for seconds in (2, 4, 6):
        assert node.at(seconds - 0.1) is None
        assert node.at(seconds) == Renew(7)
        assert node.at(seconds + 0.5) is None, "one request at a time"
        node.lease.renewed(TTL_S)
    assert node.told == [("granted", 7)]


@pytest.mark.parametrize(("granted_s", "counts_s"), [(3, 3), (TTL_S, TTL_S), (12, TTL_S)])
def test_the_time_that_was_granted_counts_but_no_more_than_was_asked_for(
    granted_s: int, counts_s: int
) -> None:
    node = Node()
    node.at(0)
    node.lease.granted(7, granted_s)
    assert node.at(counts_s / 3 - 0.1) is None
    assert node.at(counts_s / 3) == Renew(7)
    assert node.lease.answer_within_s == counts_s / 4


def test_it_tells_when_that_was_asked_which_was_answered_last(node: Node) -> None:
    assert node.lease.answered_at == 100
    node.at(2)
    node.now += 1
    assert node.lease.answered_at == 100
    node.lease.renewed(TTL_S)
    assert node.lease.answered_at == 102
    node.at(4)
    node.lease.failed(node.now)
    assert node.lease.answered_at == 102
    assert node.at(5) == Renew(7)
    node.lease.renewed(0)
    assert node.lease.answered_at == 105, "that it is gone is an answer"
    assert node.at(6) == Grant(TTL_S)
    assert node.lease.answered_at == 105
    node.lease.granted(8, TTL_S)
    assert node.lease.answered_at == 106


def test_a_renewal_counts_from_when_it_was_asked_for(node: Node) -> None:
    node.at(2)
    node.now += 1.5
    node.lease.renewed(TTL_S)
    assert node.at(3.9) is None
    assert node.at(4) == Renew(7)


def test_a_lease_that_is_gone_ends_and_another_is_asked_for_at_once(node: Node) -> None:
    node.at(2)
    node.lease.renewed(0)
    assert node.told == [("granted", 7), ("ended", 7)]
    assert node.at(2) == Grant(TTL_S)
    node.lease.granted(8, TTL_S)
    assert node.told[2:] == [("granted", 8)]
    assert node.at(4) == Renew(8)


def test_no_answer_means_nothing_and_is_asked_again(node: Node) -> None:
    for tries in range(60):
        assert node.at(2 + tries * RETRY_S) == Renew(7)
        node.lease.failed(node.now)
        assert node.at(2 + (tries + 0.9) * RETRY_S) is None
    assert node.told == [("granted", 7)]


def test_a_grant_without_an_answer_is_asked_for_again() -> None:
    node = Node()
    node.at(0)
    node.lease.failed(node.now)
    assert node.at(RETRY_S / 2) is None
    assert node.at(RETRY_S) == Grant(TTL_S)


def test_nothing_is_asked_for_while_the_main_loop_stands(node: Node) -> None:
    node.at(1.9)
    node.stands = True
    assert node.at(1.9 + STANDING_S) == Renew(7), "it may go round yet"
    node.lease.renewed(TTL_S)
    asked = [node.at(tenths / 10) for tenths in range(60, 300)]
    assert asked == [None] * 240
    node.stands = False
    assert node.at(31) == Renew(7)
    node.lease.renewed(0)
    assert node.told[1:] == [("ended", 7)]


def test_a_node_whose_loop_stands_gets_no_lease() -> None:
    node = Node()
    node.stands = True
    assert node.at(STANDING_S + 1) is None
    assert node.lease.next_at == node.now + RETRY_S


def test_after_a_sleep_of_the_machine_the_loop_has_to_go_round_first(node: Node) -> None:
    node.stands = True  # the clock went on, the loop has not gone round yet
    assert node.at(3_600) is None
    node.stands = False
    assert node.at(3_600 + RETRY_S) == Renew(7)


def test_a_release_revokes_once_and_tells_nothing(node: Node) -> None:
    node.lease.release()
    node.lease.release()
    assert node.at(0.1) == Revoke(7)
    assert node.at(0.1) is None
    assert node.lease.state is LeaseState.OVER
    node.lease.failed(node.now)
    assert node.at(9) is None
    assert node.told == [("granted", 7)]


def test_a_release_revokes_while_the_loop_stands_too(node: Node) -> None:
    node.stands = True
    node.lease.release()
    assert node.at(60) == Revoke(7)


@pytest.mark.parametrize(
    ("answer", "after"),
    [("granted", [Revoke(8)]), ("failed", [None])],
)
def test_a_release_waits_for_a_grant(answer: str, after: list[Request | None]) -> None:
    node = Node()
    node.at(0)
    node.lease.release()
    assert node.at(1) is None
    if answer == "granted":
        node.lease.granted(8, TTL_S)
    else:
        node.lease.failed(node.now)
    assert [node.at(1)] == after
    assert node.told == []


@pytest.mark.parametrize(("ttl_s", "after"), [(TTL_S, Revoke(7)), (0, None)])
def test_a_release_waits_for_a_renewal(node: Node, ttl_s: int, after: Request | None) -> None:
    node.at(2)
    node.lease.release()
    node.lease.renewed(ttl_s)
    assert node.at(2) == after
    assert node.lease.state is LeaseState.OVER
    assert node.told == [("granted", 7)]


def test_a_release_before_a_grant_asks_for_nothing() -> None:
    node = Node()
    node.lease.release()
    assert node.at(0) is None
    assert node.lease.state is LeaseState.OVER


def test_its_end_is_known_from_when_it_was_asked_for(node: Node) -> None:
    assert node.lease.ends_at == 100 + TTL_S
    assert node.at(2) == Renew(7)
    assert node.lease.ends_at == 100 + TTL_S, "nobody knows yet"
    node.lease.failed(103.0)
    assert node.lease.ends_at == 100 + TTL_S
    assert node.at(4) == Renew(7)
    node.lease.renewed(TTL_S)
    assert node.lease.ends_at == 104 + TTL_S
    assert node.at(6) == Renew(7)
    node.lease.renewed(0)
    assert node.lease.ends_at == 0
    assert node.at(6) == Grant(TTL_S)
    node.lease.granted(8, TTL_S)
    node.lease.release()
    assert node.lease.ends_at == 0
