from __future__ import annotations

from random import Random

import pytest

from reference_broker.cluster.coordinator import Delete, Put, Transaction, Won
from reference_broker.simulation.etcd.profile import CALM
from reference_broker.simulation.etcd.server import RECOVERY_US, EtcdServer
from reference_broker.simulation.events.clock import SimulatedClock

SECOND_US = 1_000_000


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock()


@pytest.fixture
def server(clock: SimulatedClock) -> EtcdServer:
    return EtcdServer(clock, Random(1), CALM)


def put(key: str, lease: int = 0) -> Transaction:
    return Transaction((), (Put(key, b"", lease),))


def test_followers_are_called_once_a_revision(server: EtcdServer) -> None:
    seen: list[int] = []
    number = server.follow(lambda: seen.append(server.store.revision))
    server.transact(put("a"))
    server.transact(Transaction((), (Delete("b"),)))
    server.transact(put("a"))
    server.unfollow(number)
    server.unfollow(number)
    server.transact(put("a"))
    assert seen == [2, 3]
    assert server.record.revision == 4


def test_all_leases_are_revoked_each_in_its_own_revision(server: EtcdServer) -> None:
    for key in ("a", "b"):
        server.transact(put(key, server.grant(5)))
    server.revoke_leases()
    assert server.store.leases() == []
    assert [len(changed.events) for changed in server.record.changes] == [1, 1, 1, 1]


def test_while_it_is_away_requests_wait_get_lost_or_are_dropped(
    server: EtcdServer, clock: SimulatedClock
) -> None:
    done, dropped = list[Won](), list[str]()

    def act() -> None:
        outcome = server.transact(put("a"))
        assert isinstance(outcome, Won)
        done.append(outcome)

    server.go_away(10 * SECOND_US)
    for _ in range(50):
        server.perform(act, dropped.append)
    assert not done
    assert set(dropped) == {"etcdserver: no leader"}
    clock.run(10 * SECOND_US - 1)
    assert not done
    clock.run(10 * SECOND_US + RECOVERY_US)
    assert 0 < len(done) < 50 - len(dropped)
    server.perform(act, dropped.append)
    assert done[-1] == Won(len(done) + 1)


def test_it_is_back_when_it_is_told_to_and_every_lease_starts_anew(
    server: EtcdServer, clock: SimulatedClock
) -> None:
    lease = server.grant(5)
    clock.run(4 * SECOND_US)
    server.go_away(60 * SECOND_US)
    clock.run(20 * SECOND_US)
    assert not server.serving
    server.come_back()
    assert server.serving
    clock.run(25 * SECOND_US - 1)
    assert server.renew(lease)
    clock.run(90 * SECOND_US)
    assert not server.renew(lease)


def test_nothing_is_granted_without_space(server: EtcdServer) -> None:
    server.store.full = True
    assert server.grant(5) == 0
