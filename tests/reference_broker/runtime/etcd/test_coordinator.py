"""The coordinator over a real etcd: transactions and pages, answered later, once, and as inputs."""

from __future__ import annotations

import asyncio

import pytest

from mqkit.testing import Etcd
from reference_broker.cluster.coordinator import (
    CHANGES_MAX,
    PAGE_ROWS_MAX,
    Compare,
    Delete,
    InDoubt,
    Lost,
    Page,
    Put,
    Refused,
    Row,
    Transaction,
    Unread,
    Won,
)
from reference_broker.runtime.etcd import coordinator as coordinator_module
from reference_broker.runtime.etcd.config import EtcdConfig
from reference_broker.runtime.etcd.coordinator import EtcdCoordinator
from reference_broker.runtime.process.loop_beat import LoopBeat
from reference_broker.testing.coordinator_user import CoordinatorUser
from reference_broker.testing.scripted_gateway import HANG, ScriptedGateway, http_answer

pytestmark = pytest.mark.anyio


async def won(user: CoordinatorUser, *changes: Put | Delete) -> int:
    outcome = await user.propose(*changes)
    assert isinstance(outcome, Won)
    return outcome.revision


async def page(user: CoordinatorUser, prefix: str, after: str = "", revision: int = 0) -> Page:
    page = await user.read(prefix, after=after, revision=revision)
    assert isinstance(page, Page)
    return page


async def test_a_transaction_is_won_once(user: CoordinatorUser, prefix: str) -> None:
    absent = Compare(prefix + "a", 0)
    first = await user.propose(Put(prefix + "a", b"1"), compares=[absent])
    assert isinstance(first, Won)
    assert isinstance(await user.propose(Put(prefix + "a", b"2"), compares=[absent]), Lost)
    seen = Compare(prefix + "a", first.revision)
    second = await user.propose(
        Put(prefix + "a", b"3"), Put(prefix + "b", bytes(range(256))), compares=[seen]
    )
    assert isinstance(second, Won)
    assert (await page(user, prefix)).rows == (
        Row(prefix + "a", b"3", second.revision, created=first.revision),
        Row(prefix + "b", bytes(range(256)), second.revision, created=second.revision),
    )
    assert isinstance(await user.propose(Delete(prefix + "a"), compares=[seen]), Lost)


async def test_a_key_that_went_is_not_there(user: CoordinatorUser, prefix: str) -> None:
    await won(user, Put(prefix + "a", b"1"))
    await won(user, Delete(prefix + "a"), Delete(prefix + "never"))
    assert (await page(user, prefix)).rows == ()
    absent = Compare(prefix + "a", 0)
    assert isinstance(await user.propose(Put(prefix + "a", b"2"), compares=[absent]), Won)


async def test_lost_tells_a_revision_that_has_the_reason(
    user: CoordinatorUser, prefix: str
) -> None:
    revision = await won(user, Put(prefix + "a", b"1"))
    lost = await user.propose(compares=[Compare(prefix + "a", 0)])
    assert isinstance(lost, Lost)
    assert lost.revision >= revision


async def test_a_hundred_changes_and_compares_are_one_transaction(
    user: CoordinatorUser, prefix: str
) -> None:
    keys = [f"{prefix}{number:03}" for number in range(CHANGES_MAX)]
    outcome = await user.propose(
        *(Put(key, b"v") for key in keys), compares=[Compare(key, 0) for key in keys]
    )
    assert isinstance(outcome, Won)
    rows = (await page(user, prefix)).rows
    assert [row.key for row in rows] == keys
    assert {row.revision for row in rows} == {outcome.revision}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (Put("/mqkit/x", bytes(1_800_000)), "request is too large"),
        (Put("/mqkit/x", b"", lease=77), "requested lease not found"),
        (Put("", b""), "key is not provided"),
    ],
    ids=["too-large", "no-lease", "no-key"],
)
async def test_a_refusal_of_etcd_is_certain(user: CoordinatorUser, change: Put, words: str) -> None:
    refused = await user.propose(change)
    assert isinstance(refused, Refused)
    assert words in refused.reason


async def test_pages_are_in_order_of_keys_at_one_revision(
    user: CoordinatorUser, prefix: str
) -> None:
    keys = [f"{prefix}{number:05}" for number in range(PAGE_ROWS_MAX + 50)]
    for begin in range(0, len(keys), CHANGES_MAX):
        await won(user, *(Put(key, b"v") for key in keys[begin : begin + CHANGES_MAX]))
    first = await page(user, prefix)
    assert (len(first.rows), first.more) == (PAGE_ROWS_MAX, True)
    await won(user, Delete(keys[-1]), Put(prefix + "zzz", b""))
    second = await page(user, prefix, first.rows[-1].key, first.revision)
    assert (second.more, second.revision) == (False, first.revision)
    assert [row.key for row in (*first.rows, *second.rows)] == keys
    assert (await page(user, prefix, keys[-3])).rows[-1].key == prefix + "zzz"


async def test_an_empty_page_tells_the_revision(user: CoordinatorUser, prefix: str) -> None:
    revision = await won(user, Put("/mqkit/elsewhere", b""))
    empty = await page(user, prefix)
    assert (empty.rows, empty.more) == ((), False)
    assert empty.revision >= revision


async def test_the_whole_store_has_an_empty_prefix(user: CoordinatorUser, prefix: str) -> None:
    await won(user, Put(prefix + "a", b""))
    assert (await page(user, "", after=prefix)).rows[0].key == prefix + "a"


async def test_a_future_revision_is_not_to_be_had(user: CoordinatorUser, prefix: str) -> None:
    unread = await user.read(prefix, revision=2**40)
    assert isinstance(unread, Unread)
    assert not unread.compacted
    assert "future revision" in unread.reason


async def test_keys_need_not_be_utf_8(user: CoordinatorUser, prefix: str) -> None:
    key = prefix + "\udcff\udc00"[:1]
    await won(user, Put(key, b"v"))
    assert [row.key for row in (await page(user, prefix)).rows] == [key]


async def test_each_answer_is_one_input_and_at_once_they_are_all_answered(
    user: CoordinatorUser, prefix: str
) -> None:
    before = user.inputs
    outcomes = await asyncio.gather(
        *(user.propose(Put(f"{prefix}{number}", b"")) for number in range(50))
    )
    assert all(isinstance(outcome, Won) for outcome in outcomes)
    assert user.inputs == before + 50


async def test_after_the_end_nothing_is_answered(etcd_server: Etcd, prefix: str) -> None:
    user = CoordinatorUser(etcd_server.endpoints)
    asked = asyncio.gather(
        user.propose(Put(prefix + "a", b"")), user.read(prefix), return_exceptions=True
    )
    told = user.watch(prefix, 0)
    await asyncio.sleep(0)  # all are on their way
    await user.close()
    await user.close()
    assert user.inputs == 0
    assert told.empty()
    assert not asked.done()
    asked.cancel()


async def test_no_answer_leaves_a_transaction_in_doubt(
    monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    monkeypatch.setattr(coordinator_module, "PROPOSE_TIMEOUT_S", 0.05)
    monkeypatch.setattr(coordinator_module, "READ_TIMEOUT_S", 0.05)
    async with ScriptedGateway(lambda _: HANG) as server:
        user = CoordinatorUser([server.endpoint.url])
        assert isinstance(await user.propose(Put(prefix, b"")), InDoubt)
        assert isinstance(await user.read(prefix), Unread)
        await user.close()


async def test_an_answer_that_etcd_would_not_give_is_none(prefix: str) -> None:
    async with ScriptedGateway(lambda _: http_answer({"header": {"revision": "x"}})) as server:
        user = CoordinatorUser([server.endpoint.url])
        assert isinstance(await user.propose(Put(prefix, b"")), InDoubt)
        assert await user.read(prefix) == Unread("etcd: revision is no number")
        await user.close()


async def test_an_error_of_ours_is_an_answer_too(
    etcd_server: Etcd, caplog: pytest.LogCaptureFixture
) -> None:
    user = CoordinatorUser(etcd_server.endpoints)
    too_many = [Delete(str(number)) for number in range(CHANGES_MAX + 1)]
    assert isinstance(await user.propose(*too_many), InDoubt)
    assert "a transaction is in doubt" in caplog.text
    await user.close()


async def test_it_shows_no_password(etcd_server: Etcd) -> None:
    places = CoordinatorUser(etcd_server.endpoints).coordinator._config.endpoints
    config = EtcdConfig(places, user="u", password="geheim")
    beat = LoopBeat(asyncio.get_running_loop().call_later)
    coordinator = EtcdCoordinator(config, lambda step: step(), beat)
    coordinator.propose(Transaction((), ()), lambda _: None)
    assert "geheim" not in repr(coordinator)
    await coordinator.close()
    beat.stop()
