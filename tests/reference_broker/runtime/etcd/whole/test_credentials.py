"""An etcd with users, and one with TLS: who may come in, and one line for each who may not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mqkit.testing import Etcd, EtcdUnavailable, etcd
from mqkit.testing.certificates import Authority
from mqkit.testing.etcd_member import EtcdTls
from reference_broker.cluster.coordinator import Changed, Put, Refused, Unread, WatchEnded, Won
from reference_broker.runtime.etcd.client import EtcdClient
from reference_broker.runtime.etcd.config import EtcdConfig, endpoint
from reference_broker.runtime.etcd.fields import range_fields
from reference_broker.testing.coordinator_user import CoordinatorUser, LeaseTold

pytestmark = pytest.mark.anyio

PREFIX = "/mqkit/mine/"
PASSWORD = "geheim"


def places(server: Etcd) -> EtcdConfig:
    return EtcdConfig(tuple(endpoint(each) for each in server.endpoints))


@pytest.fixture(scope="module")
def with_users() -> Iterator[Etcd]:
    """An etcd whose user "mqkit" may read and write below the prefix alone."""
    try:
        with etcd() as found:
            asyncio.run(_set_users(found))
            yield found
    except EtcdUnavailable as why:
        pytest.skip(str(why))


async def _set_users(server: Etcd) -> None:
    client = EtcdClient(places(server), None)
    permission = {"permType": "READWRITE", **range_fields(PREFIX)}
    steps: list[tuple[str, dict[str, Any]]] = [
        ("user/add", {"name": "root", "password": "root"}),
        ("user/add", {"name": "mqkit", "password": PASSWORD}),
        ("role/add", {"name": "root"}),
        ("role/add", {"name": "mine"}),
        ("role/grant", {"name": "mine", "perm": permission}),
        ("user/grant", {"user": "root", "role": "root"}),
        ("user/grant", {"user": "mqkit", "role": "mine"}),
        ("enable", {}),
    ]
    for path, body in steps:
        await client.ask(f"/v3/auth/{path}", body, 20.0)
    await client.close()


async def reasons(config: EtcdConfig, prefix: str = PREFIX) -> list[str]:
    """The reasons of a transaction, a read and a watch that all are refused."""
    user = CoordinatorUser([], config)
    refused = await user.propose(Put(prefix + "a", b""))
    unread = await user.read(prefix)
    ended = await user.watch(prefix, 0).next()
    await user.close()
    assert isinstance(refused, Refused)
    assert isinstance(unread, Unread)
    assert isinstance(ended, WatchEnded)
    found = [refused.reason, unread.reason, ended.reason]
    assert not any(PASSWORD in each or "\n" in each for each in found)
    return found


def mine(server: Etcd) -> EtcdConfig:
    return replace(places(server), user="mqkit", password=PASSWORD)


async def test_a_user_does_everything_below_the_prefix(with_users: Etcd) -> None:
    user = CoordinatorUser([], mine(with_users))
    told, leases = user.watch(PREFIX, 0), LeaseTold()
    keeper = user.coordinator.keep_lease(5, leases)
    won = await user.propose(Put(PREFIX + "a", b"", await leases.granted()))
    assert isinstance(won, Won)
    news = await told.next()
    assert isinstance(news, Changed)
    assert news.revision == won.revision
    keeper.release()
    await user.close()


async def test_tokens_that_are_forgotten_are_asked_for_again(with_users: Etcd) -> None:
    user = CoordinatorUser([], mine(with_users))
    assert isinstance(await user.propose(Put(PREFIX + "a", b"")), Won)
    told, leases = user.watch(PREFIX, 0), LeaseTold()
    keeper = user.coordinator.keep_lease(60, leases)
    lease = await leases.granted()
    await asyncio.to_thread(with_users.stop)
    await asyncio.to_thread(with_users.start)
    assert isinstance(await user.propose(Put(PREFIX + "b", b"", lease)), Won)
    while not isinstance(news := await told.next(), WatchEnded):
        pass
    again = user.watch(PREFIX, 0)
    while isinstance(news := await again.next(), WatchEnded):
        again = user.watch(PREFIX, 0)
    assert isinstance(news, Changed)
    keeper.release()
    await user.close()


@pytest.mark.parametrize(
    ("name", "password", "words"),
    [
        ("mqkit", "wrong", "authentication failed, invalid user ID or password (user 'mqkit')"),
        ("nobody", PASSWORD, "authentication failed, invalid user ID or password (user 'nobody')"),
        (None, None, "user name is empty"),
    ],
    ids=["wrong-password", "wrong-user", "no-user"],
)
async def test_a_wrong_user_is_told_in_one_line(
    with_users: Etcd, name: str | None, password: str | None, words: str
) -> None:
    config = replace(places(with_users), user=name, password=password)
    for reason in await reasons(config):
        assert reason.startswith(f"etcd at {with_users.endpoints[0]}: ")
        assert words in reason


async def test_a_prefix_of_somebody_else_is_refused(with_users: Etcd) -> None:
    for reason in await reasons(mine(with_users), "/mqkit/theirs/"):
        assert reason.endswith("permission denied")


@dataclass(frozen=True)
class Secured:
    """An etcd with TLS that verifies its clients, who trusts whom, and a way in."""

    server: Etcd
    authority: Authority
    other: Authority
    config: EtcdConfig


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("tls")
    authority, other = Authority(folder), Authority(folder, "other")
    issued, client = authority.issue("server", "127.0.0.1"), authority.issue("client")
    try:
        with etcd(tls=EtcdTls(issued.certificate, issued.key, authority.path)) as found:
            config = replace(
                places(found),
                authority=authority.path,
                certificate=client.certificate,
                key=client.key,
            )
            yield Secured(found, authority, other, config)
    except EtcdUnavailable as why:
        pytest.skip(str(why))


async def test_certificates_lead_in(secured: Secured) -> None:
    user = CoordinatorUser([], secured.config)
    told, leases = user.watch(PREFIX, 0), LeaseTold()
    keeper = user.coordinator.keep_lease(5, leases)
    assert isinstance(await user.propose(Put(PREFIX + "a", b"", await leases.granted())), Won)
    assert isinstance(await told.next(), Changed)
    keeper.release()
    await user.close()


async def test_a_wrong_authority_is_told_in_one_line(secured: Secured) -> None:
    for reason in await reasons(replace(secured.config, authority=secured.other.path)):
        assert "its certificate is not trusted: unable to get local issuer certificate" in reason


async def test_a_client_without_a_good_certificate_is_told_in_one_line(
    secured: Secured, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path, "stranger").issue("stranger")
    for config in (
        replace(secured.config, certificate=None, key=None),
        replace(secured.config, certificate=stranger.certificate, key=stranger.key),
    ):
        for reason in await reasons(config):
            assert "TLS failed: " in reason
            assert "certificate" in reason


async def test_tls_towards_an_etcd_without_it_is_told_in_one_line(with_users: Etcd) -> None:
    plain = places(with_users).endpoints[0]
    for reason in await reasons(EtcdConfig((replace(plain, tls=True),))):
        assert reason.endswith("TLS handshake: name it with http:// if it speaks no TLS")
