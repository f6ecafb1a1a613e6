"""Users, permissions, virtual hosts and limits over HTTP: the same answers from both brokers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio

SHA256_OF_TEST12 = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR"
EVERYTHING = {"configure": ".*", "write": ".*", "read": ".*"}


class Admin:
    """Calls with names of this test's own, which are cleared away."""

    def __init__(self, api: httpx.AsyncClient, user: str, vhost: str) -> None:
        self.api = api
        self.user = user
        self.vhost = vhost
        self.user_path = f"/api/users/{quote(user, safe='')}"
        self.vhost_path = f"/api/vhosts/{quote(vhost, safe='')}"
        both = f"{quote(vhost, safe='')}/{quote(user, safe='')}"
        self.permission_path = f"/api/permissions/{both}"
        self.topic_path = f"/api/topic-permissions/{both}"

    async def put(self, path: str, body: Any) -> tuple[int, Any]:
        answer = await self.api.put(path, json=body)
        return answer.status_code, answer.json()["reason"] if answer.content else None

    async def get(self, path: str) -> Any:
        answer = await self.api.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
async def admin(place: Any, unique: Callable[[str], str]) -> AsyncIterator[Admin]:
    admin = Admin(place.api, unique("user"), unique("vhost"))
    yield admin
    await place.api.delete(admin.user_path)
    await place.api.delete(admin.vhost_path)


async def test_a_users_life(admin: Admin) -> None:
    assert await admin.put(admin.user_path, {"password": "p", "tags": "management,custom"}) == (
        201,
        None,
    )
    shown = await admin.get(admin.user_path)
    assert (shown["name"], shown["tags"], shown["limits"]) == (
        admin.user,
        ["management", "custom"],
        {},
    )
    whoami = await admin.api.get("/api/whoami", auth=(admin.user, "p"))
    assert whoami.json() == {"name": admin.user, "tags": ["management", "custom"]}
    wrong = await admin.api.get("/api/whoami", auth=(admin.user, "q"))
    assert (wrong.status_code, wrong.json()["reason"]) == (401, "Login failed")

    changed = {"password": "new", "tags": ["monitoring"], "limits": {"max-channels": 3}}
    assert await admin.put(admin.user_path, changed) == (204, None)
    assert (await admin.get(admin.user_path))["limits"] == {"max-channels": 3}
    assert (await admin.api.get("/api/whoami", auth=(admin.user, "p"))).status_code == 401
    assert (await admin.api.get("/api/whoami", auth=(admin.user, "new"))).status_code == 200
    assert admin.user in [row["name"] for row in await admin.get("/api/users/without-permissions")]

    assert (await admin.api.delete(admin.user_path)).status_code == 204
    assert (await admin.api.delete(admin.user_path)).status_code == 404
    assert (await admin.api.get(admin.user_path)).status_code == 404


async def test_a_hash_of_rabbitmqs_lets_its_password_in(admin: Admin) -> None:
    body = {"password_hash": SHA256_OF_TEST12, "tags": "management"}
    assert await admin.put(admin.user_path, body) == (201, None)
    assert (await admin.api.get("/api/whoami", auth=(admin.user, "test12"))).status_code == 200
    shown = await admin.get(admin.user_path)
    assert shown["password_hash"] == SHA256_OF_TEST12
    assert shown["hashing_algorithm"] == "rabbit_password_hashing_sha256"


@pytest.mark.parametrize("body", [{"tags": "management"}, {"password": "", "tags": "management"}])
async def test_a_user_who_can_not_log_in(admin: Admin, body: dict[str, Any]) -> None:
    assert await admin.put(admin.user_path, body) == (201, None)
    for password in ("", "x"):
        assert (await admin.api.get("/api/whoami", auth=(admin.user, password))).status_code == 401


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "tags_not_present"),
        ({"password": "p"}, "tags_not_present"),
        (
            {"password": "p", "password_hash": "AAAA", "tags": ""},
            "both_password_and_password_hash_are_provided",
        ),
    ],
)
async def test_a_user_that_can_not_be(admin: Admin, body: dict[str, Any], reason: Any) -> None:
    assert await admin.put(admin.user_path, body) == (400, reason)
    assert (await admin.api.get(admin.user_path)).status_code == 404


async def test_a_hash_that_can_not_be(admin: Admin) -> None:
    status, reason = await admin.put(admin.user_path, {"password_hash": "!!", "tags": ""})
    assert (status, reason[0]) == (400, "not_base64")


async def test_several_users_at_once(admin: Admin) -> None:
    await admin.put(admin.user_path, {"tags": ""})
    several = {"users": [admin.user, "nope.nope"]}
    answer = await admin.api.post("/api/users/bulk-delete", json=several)
    assert (answer.status_code, answer.json()["reason"]) == (400, ["no_such_user", "nope.nope"])
    assert (await admin.api.get(admin.user_path)).status_code == 404
    missing = await admin.api.post("/api/users/bulk-delete", json={})
    assert missing.json()["reason"] == "[{key_missing,users}]"


async def test_a_vhosts_life(admin: Admin) -> None:
    assert (await admin.api.put(admin.vhost_path)).status_code == 201
    labels = {"description": "d", "tags": "x,y", "tracing": "false"}
    assert await admin.put(admin.vhost_path, labels) == (204, None)
    shown = await admin.get(admin.vhost_path)
    assert (shown["name"], shown["description"], shown["tags"]) == (admin.vhost, "d", ["x", "y"])
    [mine] = await admin.get(f"{admin.vhost_path}/permissions")
    assert mine == {"user": "guest", "vhost": admin.vhost, **EVERYTHING}
    assert len(await admin.get(f"/api/exchanges/{quote(admin.vhost)}")) == 7
    assert await admin.put(admin.vhost_path, {"tracing": "maybe"}) == (
        400,
        ["not_boolean", "maybe"],
    )
    assert (await admin.api.delete(admin.vhost_path)).status_code == 204
    assert (await admin.api.delete(admin.vhost_path)).status_code == 404
    assert [row for row in await admin.get("/api/permissions") if row["vhost"] == admin.vhost] == []


async def test_permissions(admin: Admin) -> None:
    patterns = {"configure": "^a", "write": "", "read": ".*"}
    unknown = (400, "vhost_or_user_not_found")
    assert await admin.put(admin.permission_path, patterns) == unknown
    await admin.put(admin.vhost_path, {})
    assert await admin.put(admin.permission_path, patterns) == unknown
    await admin.put(admin.user_path, {"tags": ""})
    assert (await admin.api.get(admin.permission_path)).status_code == 404
    assert await admin.put(admin.permission_path, patterns) == (201, None)
    assert await admin.put(admin.permission_path, patterns) == (204, None)
    row = {"user": admin.user, "vhost": admin.vhost, **patterns}
    assert await admin.get(admin.permission_path) == row
    assert await admin.get(f"{admin.user_path}/permissions") == [row]
    assert row in await admin.get(f"{admin.vhost_path}/permissions")
    assert row in await admin.get("/api/permissions")
    assert await admin.put(admin.permission_path, {"configure": ""}) == (
        400,
        "[{key_missing,write},{key_missing,read}]",
    )
    status, reason = await admin.put(admin.permission_path, {**patterns, "write": "("})
    assert (status, reason[0]) == (400, "invalid_regexp")
    assert await admin.get(admin.permission_path) == row
    assert (await admin.api.delete(admin.permission_path)).status_code == 204
    assert (await admin.api.delete(admin.permission_path)).status_code == 404


async def test_topic_permissions(admin: Admin) -> None:
    await admin.put(admin.vhost_path, {})
    await admin.put(admin.user_path, {"tags": ""})
    patterns = {"exchange": "amq.topic", "write": "^a", "read": "^{username}"}
    assert (await admin.api.get(admin.topic_path)).status_code == 404
    assert await admin.put(admin.topic_path, patterns) == (201, None)
    assert await admin.put(admin.topic_path, patterns) == (204, None)
    row = {"user": admin.user, "vhost": admin.vhost, **patterns}
    assert await admin.get(admin.topic_path) == [row]
    assert await admin.get(f"{admin.topic_path}/amq.topic") == [row]
    assert await admin.get(f"{admin.user_path}/topic-permissions") == [row]
    assert await admin.get(f"{admin.vhost_path}/topic-permissions") == [row]
    assert row in await admin.get("/api/topic-permissions")
    assert await admin.put(admin.topic_path, {"exchange": "amq.topic"}) == (
        400,
        "[{key_missing,write},{key_missing,read}]",
    )
    status, reason = await admin.put(admin.topic_path, {**patterns, "write": "("})
    assert (status, reason[0]) == (400, "invalid_regexp")
    assert (await admin.api.delete(f"{admin.topic_path}/amq.topic")).status_code == 204
    assert (await admin.api.get(admin.topic_path)).status_code == 404


async def test_limits_of_a_vhost(admin: Admin) -> None:
    limits = f"/api/vhost-limits/{quote(admin.vhost)}"
    status, reason = await admin.put(f"{limits}/max-queues", {"value": 5})
    assert (status, reason) == (404, "vhost_not_found")
    await admin.put(admin.vhost_path, {})
    assert await admin.get(limits) == []
    assert await admin.put(f"{limits}/max-queues", {"value": 5}) == (204, None)
    assert await admin.put(f"{limits}/max-connections", {"value": -1}) == (204, None)
    row = {"vhost": admin.vhost, "value": {"max-queues": 5, "max-connections": -1}}
    assert await admin.get(limits) == [row]
    assert row in await admin.get("/api/vhost-limits")
    assert await admin.put(f"{limits}/max-queues", {"value": "a"}) == (
        400,
        'Validation failed\n\nmax-queues should be a number, actually was <<"a">>\n',
    )
    assert await admin.put(f"{limits}/max-foo", {"value": 1}) == (
        400,
        'Validation failed\n\nUnrecognised terms [{<<"max-foo">>,1}] in limits\n',
    )
    assert await admin.put(f"{limits}/max-queues", {}) == (400, "[{key_missing,value}]")
    for name in ("max-queues", "max-queues", "max-connections"):
        assert (await admin.api.delete(f"{limits}/{name}")).status_code == 204
    assert await admin.get(limits) == []


async def test_limits_of_a_user(admin: Admin) -> None:
    limits = f"/api/user-limits/{quote(admin.user)}"
    assert await admin.put(f"{limits}/max-channels", {"value": 5}) == (
        400,
        ["no_such_user", admin.user],
    )
    await admin.put(admin.user_path, {"tags": ""})
    assert await admin.put(f"{limits}/max-channels", {"value": 5}) == (204, None)
    row = {"user": admin.user, "value": {"max-channels": 5}}
    assert await admin.get(limits) == [row]
    assert row in await admin.get("/api/user-limits")
    assert await admin.put(f"{limits}/max-foo", {"value": 1}) == (
        400,
        'Unrecognised terms [{<<"max-foo">>,1}] in user-limits',
    )
    assert await admin.put(f"{limits}/max-channels", {"value": "x"}) == (
        400,
        'max-channels should be a number, actually was <<"x">>',
    )
    assert (await admin.api.delete(f"{limits}/max-channels")).status_code == 204
    assert await admin.get(limits) == []


async def test_all_of_it_is_there_after_a_restart(server: Server, api: httpx.AsyncClient) -> None:
    for path, body in (
        ("/api/vhosts/v2", {"description": "two"}),
        ("/api/users/ann", {"password": "secret", "tags": "management"}),
        ("/api/permissions/v2/ann", {"configure": "", "write": "^w", "read": ".*"}),
        ("/api/vhost-limits/v2/max-queues", {"value": 5}),
        ("/api/user-limits/ann/max-channels", {"value": 3}),
    ):
        assert (await api.put(path, json=body)).status_code in (201, 204), path
    before = (await api.get("/api/definitions")).json()
    await server.stop()
    again = Server(server.config)
    await again.start()
    try:
        place = f"http://127.0.0.1:{again.http_port}"
        login = ("ann", "secret")
        async with httpx.AsyncClient(base_url=place, trust_env=False) as client:
            assert (await client.get("/api/whoami", auth=login)).json()["name"] == "ann"
            after = (await client.get("/api/definitions", auth=("guest", "guest"))).json()
        for section in ("users", "permissions", "parameters"):
            assert after[section] == before[section]
        assert sorted(row["name"] for row in after["vhosts"]) == ["/", "v2"]
    finally:
        await again.stop()


async def test_a_list_of_users_has_no_pages(admin: Admin) -> None:
    await admin.put(admin.user_path, {"password": "p", "tags": ""})
    names = [user["name"] for user in await admin.get("/api/users?page=1&page_size=1")]
    assert admin.user in names
    assert names == sorted(names)
