from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from reference_broker.simulation.etcd.inbox import Inbox
from reference_broker.simulation.etcd.keeping import SimulatedKeeper
from reference_broker.simulation.etcd.line import Cut, Line
from reference_broker.simulation.etcd.profile import CALM
from reference_broker.simulation.etcd.server import EtcdServer
from reference_broker.simulation.events.clock import SimulatedClock

SECOND_US = 1_000_000
TTL_S = 5


class Kept:
    """An etcd, and somebody who has a lease of it kept."""

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.server = EtcdServer(self.clock, Random(4), CALM)
        self.inbox = Inbox(self.clock)
        self.line = Line(self.server, self.inbox)
        self.told: list[tuple[str, int]] = []
        self.keeper = SimulatedKeeper(self.server, self.line, self.inbox, TTL_S, self)

    def lease_granted(self, lease: int) -> None:
        self.told.append(("granted", lease))

    def lease_ended(self, lease: int) -> None:
        self.told.append(("ended", lease))

    def run(self, seconds: float) -> None:
        self.clock.run(self.clock.now_us + int(seconds * SECOND_US))

    @property
    def words(self) -> list[str]:
        return [word for word, _ in self.told]


@pytest.fixture
def kept() -> Kept:
    """One whose lease is granted."""
    kept = Kept()
    assert not kept.told
    kept.run(2)
    assert kept.words == ["granted"]
    return kept


def test_a_lease_is_renewed_for_as_long_as_it_is_kept(kept: Kept) -> None:
    kept.run(120)
    assert kept.server.store.leases() == [kept.told[0][1]]
    assert kept.words == ["granted"]


def test_a_revoked_one_is_told_and_replaced(kept: Kept) -> None:
    kept.server.revoke_leases()
    kept.run(10)
    assert kept.words == ["granted", "ended", "granted"]
    first, ended, second = (lease for _, lease in kept.told)
    assert first == ended != second
    assert kept.server.store.leases() == [second]


def test_one_whose_renewals_are_lost_ends(kept: Kept) -> None:
    kept.server.profile = replace(CALM, renewal_lost=1)
    kept.run(60)
    assert "ended" in kept.words
    assert kept.server.counts["leases given up"] > 0


def test_a_process_that_slept_finds_its_lease_gone(kept: Kept) -> None:
    kept.inbox.pause()
    kept.run(60)
    assert kept.server.store.leases() == []
    assert kept.words == ["granted"]
    kept.inbox.resume()
    kept.run(10)
    assert kept.words == ["granted", "ended", "granted"]


def test_one_that_is_cut_off_gets_another_when_it_is_not(kept: Kept) -> None:
    kept.line.break_off(Cut.REFUSING)
    kept.run(60)
    assert kept.server.store.leases() == []
    kept.line.heal()
    kept.run(20)
    assert kept.words == ["granted", "ended", "granted"]
    assert kept.server.store.leases() == [kept.told[-1][1]]


def test_where_there_is_no_space_it_asks_until_there_is() -> None:
    kept = Kept()
    kept.server.store.full = True
    kept.run(20)
    assert not kept.told
    kept.server.store.full = False
    kept.run(5)
    assert kept.words == ["granted"]


def test_a_released_one_is_revoked_at_once_and_nothing_is_told(kept: Kept) -> None:
    kept.keeper.release()
    kept.keeper.release()
    kept.run(2)
    assert kept.server.store.leases() == []
    kept.run(60)
    assert kept.words == ["granted"]


def test_one_that_is_released_before_it_is_granted_is_given_back() -> None:
    kept = Kept()
    kept.keeper.release()
    kept.run(3)
    assert kept.server.store.leases() == []
    assert not kept.told


def test_the_lease_of_a_process_that_is_gone_runs_out(kept: Kept) -> None:
    kept.inbox.close()
    kept.run(4)
    assert kept.server.store.leases()
    kept.run(6)
    assert kept.server.store.leases() == []
    assert kept.words == ["granted"]
