"""An etcd of three members, of which some are killed, paused, or all but one gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from mqkit.testing import Etcd, EtcdUnavailable, etcd
from reference_broker.cluster.coordinator import (
    Changed,
    Compare,
    InDoubt,
    Put,
    Unread,
    WatchEnded,
    Won,
)
from reference_broker.runtime.etcd import coordinator as coordinator_module
from reference_broker.testing.coordinator_user import CoordinatorUser, LeaseTold, WatchTold

pytestmark = pytest.mark.anyio

TTL_S = 5


@pytest.fixture(scope="module")
def three() -> Iterator[Etcd]:
    try:
        with etcd(members=3, progress_every_s=0.2) as found:
            yield found
    except EtcdUnavailable as why:
        pytest.skip(str(why))


@pytest.fixture
async def user(three: Etcd, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[CoordinatorUser]:
    # In doubt sooner: it is proposed again until it is won or lost, whatever the time.
    monkeypatch.setattr(coordinator_module, "PROPOSE_TIMEOUT_S", 0.5)
    monkeypatch.setattr(coordinator_module, "READ_TIMEOUT_S", 0.5)
    user = CoordinatorUser(three.endpoints, compare_every_s=0.3)
    yield user
    await user.close()


async def certainly_won(user: CoordinatorUser, key: str) -> None:
    """Have ``key`` there: proposed again with the same compare for as long as that is in doubt."""
    outcome = await user.propose(Put(key, b""), compares=[Compare(key, 0)])
    while isinstance(outcome, InDoubt):
        outcome = await user.propose(Put(key, b""), compares=[Compare(key, 0)])


class View:
    """The keys under a prefix, by a watch that is begun again whenever it ends."""

    def __init__(self, user: CoordinatorUser, prefix: str) -> None:
        self.ends: list[WatchEnded] = []
        self._user = user
        self._prefix = prefix
        self._revision = 0
        self._keys: list[str] = []
        self._told: WatchTold = user.watch(prefix, 0)

    async def until(self, key: str) -> list[str]:
        """All keys, in the order in which they were told, once ``key`` is among them."""
        while key not in self._keys:
            news = await self._told.next()
            if isinstance(news, WatchEnded):
                self.ends.append(news)
                self._told = self._user.watch(self._prefix, self._revision)
                continue
            assert news.revision > self._revision
            self._revision = news.revision
            if isinstance(news, Changed):
                self._keys += [event.key for event in news.events]
        return self._keys


async def test_nothing_stops_when_the_leader_is_killed(
    three: Etcd, user: CoordinatorUser, prefix: str
) -> None:
    leases = LeaseTold()
    keeper = user.coordinator.keep_lease(TTL_S, leases)
    await leases.granted()
    view = View(user, prefix)
    keys = [f"{prefix}{number}" for number in range(20)]
    leader = three.leader()
    for number, key in enumerate(keys):
        if number == 5:
            three.kill(leader)
        await certainly_won(user, key)
    assert await view.until(keys[-1]) == keys
    await asyncio.to_thread(three.start, leader)
    await certainly_won(user, prefix + "after")
    assert await view.until(prefix + "after") == [*keys, prefix + "after"]
    assert leases.empty(), "the lease was kept"
    keeper.release()


async def test_a_watch_at_a_paused_member_is_ended_and_goes_on_elsewhere(
    three: Etcd, user: CoordinatorUser, prefix: str
) -> None:
    await certainly_won(user, prefix + "a")
    place = user.coordinator._client.endpoints.in_turn()[0]
    view = View(user, prefix)
    await view.until(prefix + "a")
    member = three.endpoints.index(place.url)
    three.pause(member)
    try:
        await certainly_won(user, prefix + "b")
        assert await view.until(prefix + "b") == [prefix + "a", prefix + "b"]
        assert [end.compacted for end in view.ends] == [False]
        assert f"{place} is silent" in view.ends[0].reason
    finally:
        three.resume(member)


async def test_without_a_majority_nothing_is_certain_and_then_everything_goes_on(
    three: Etcd, user: CoordinatorUser, prefix: str
) -> None:
    leases = LeaseTold()
    keeper = user.coordinator.keep_lease(TTL_S, leases)
    lease = await leases.granted()
    leader = three.leader()
    others = [number for number in range(3) if number != leader]
    three.pause(*others)
    try:
        assert isinstance(await user.propose(Put(prefix + "a", b"")), InDoubt)
        unread = await user.read(prefix)
        assert isinstance(unread, Unread)
        assert unread.reason.count("no answer within 0.5 s") == 3
    finally:
        three.resume(*others)
    await certainly_won(user, prefix + "b")
    assert isinstance(await user.propose(Put(prefix + "c", b"", lease)), Won)
    keeper.release()
    assert leases.empty()


async def test_an_etcd_that_is_down_is_found_again(
    three: Etcd, user: CoordinatorUser, prefix: str
) -> None:
    view = View(user, prefix)
    await certainly_won(user, prefix + "a")
    await view.until(prefix + "a")
    three.kill()
    unread = await user.read(prefix)
    assert isinstance(unread, Unread)
    assert unread.reason.count("etcd at ") == 3
    await asyncio.to_thread(three.start)
    await certainly_won(user, prefix + "b")
    assert await view.until(prefix + "b") == [prefix + "a", prefix + "b"]
    assert view.ends
