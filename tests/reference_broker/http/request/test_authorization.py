"""Which tag a path asks for: RabbitMQ 3.10.8's answers, row by row, and nothing left out."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import httpx
import pytest
from starlette.routing import Route

from reference_broker.core.access.permission import Permission
from reference_broker.core.access.users import User, UserStore, hash_password
from reference_broker.core.broker import Broker
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.http.access.users import USER_BYTES_MAX
from reference_broker.http.request.authorization import Needs, needs
from reference_broker.http.request.host import Node
from reference_broker.http.serving.app import build_app
from reference_broker.testing.lone_broker import LoneBroker

pytestmark = pytest.mark.anyio

A, M, V = "Not administrator user", "Not monitor user", "vhost"
OK = None
TAGS = ("management", "policymaker", "monitoring", "administrator")

TABLE = [
    ("GET", "/api/overview", OK, OK, OK, OK),
    ("GET", "/api/whoami", OK, OK, OK, OK),
    ("GET", "/api/nodes", M, M, OK, OK),
    ("GET", "/api/definitions", A, A, A, OK),
    ("GET", "/api/definitions/%2F", A, A, A, OK),
    ("GET", "/api/vhost-limits", OK, OK, OK, OK),
    ("GET", "/api/vhost-limits/v2", V, V, OK, OK),
    ("GET", "/api/user-limits", OK, OK, OK, OK),
    ("GET", "/api/connections", OK, OK, OK, OK),
    ("GET", "/api/channels", OK, OK, OK, OK),
    ("GET", "/api/consumers", OK, OK, OK, OK),
    ("GET", "/api/consumers/v2", OK, OK, OK, OK),
    ("GET", "/api/exchanges", OK, OK, OK, OK),
    ("GET", "/api/exchanges/%2F", OK, OK, V, OK),
    ("GET", "/api/exchanges/v2", V, V, V, OK),
    ("GET", "/api/exchanges/%2F/amq.topic/bindings/source", OK, OK, V, OK),
    ("GET", "/api/queues/%2F", OK, OK, V, OK),
    ("GET", "/api/queues/v2/q", V, V, V, OK),
    ("GET", "/api/bindings/v2", V, V, V, OK),
    ("GET", "/api/vhosts", OK, OK, OK, OK),
    ("GET", "/api/vhosts/%2F", A, A, A, OK),
    ("GET", "/api/vhosts/%2F/permissions", A, A, A, OK),
    ("GET", "/api/users", A, A, A, OK),
    ("GET", "/api/users/t_mgmt/permissions", A, A, A, OK),
    ("GET", "/api/permissions", A, A, A, OK),
    ("GET", "/api/permissions/%2F/management", A, A, A, OK),
    ("GET", "/api/topic-permissions", A, A, A, OK),
    ("DELETE", "/api/users/nope", A, A, A, OK),
    ("DELETE", "/api/vhosts/nope", A, A, A, OK),
    ("DELETE", "/api/permissions/%2F/nope", A, A, A, OK),
    ("DELETE", "/api/vhost-limits/%2F/max-queues", A, A, A, OK),
    ("DELETE", "/api/queues/%2F/nope/contents", OK, OK, V, OK),
    ("PUT", "/api/users/zz", A, A, A, OK),
    ("PUT", "/api/user-limits/t/zz", A, A, A, OK),
    ("POST", "/api/users/bulk-delete", A, A, A, OK),
    ("POST", "/api/queues/%2F/q/get", OK, OK, V, OK),
    ("POST", "/api/exchanges/v2/amq.topic/publish", V, V, V, OK),
]
TEXTS = {
    V: "User not authorised to access virtual host",
}


class Shell:
    """A server without sockets: one user for each tag; management and policymaker may enter /."""

    def __init__(self) -> None:
        users = UserStore()
        for tag in TAGS:
            users.add(User(tag, hash_password(b"secret", b"salt"), (tag,)))
        self.broker = Broker(MemoryJournal(), users)
        for tag in ("monitoring", "administrator"):
            self.broker.access.clear_permission(tag, "/")
        self.broker.add_vhost("v2")

    def permit(self, user: str, vhost: str, configure: str, write: str, read: str) -> None:
        permission = Permission.of(configure, write, read)
        self.broker.access.set_permission(user, vhost, permission)

    def now(self) -> tuple[float, int]:
        return 1.0, 1_000

    def input_handled(self) -> None:
        """A memory journal is always synced."""

    def node(self) -> Node:
        return Node("test", 0, None, 0, ())

    def client(self, user: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(build_app(self), client=("127.0.0.1", 1))
        return httpx.AsyncClient(transport=transport, base_url="http://test", auth=(user, "secret"))


@pytest.mark.parametrize(("method", "path", *TAGS), TABLE)
async def test_as_rabbitmq_answers(
    method: str,
    path: str,
    management: str | None,
    policymaker: str | None,
    monitoring: str | None,
    administrator: str | None,
) -> None:
    shell = Shell()
    wanted = dict(zip(TAGS, (management, policymaker, monitoring, administrator), strict=True))
    for tag, reason in wanted.items():
        async with shell.client(tag) as client:
            answer = await client.request(method, path, content=b"[1]" if method != "GET" else None)
        if reason is None:
            assert answer.status_code != 401, (tag, answer.text)
        else:
            expected = {"error": "not_authorised", "reason": TEXTS.get(reason, reason)}
            assert (answer.status_code, answer.json()) == (401, expected), tag


async def test_lists_show_what_their_reader_may_enter() -> None:
    shell = Shell()
    for vhost in ("/", "v2"):
        shell.broker.vhosts[vhost].declare_queue(f"q of {vhost}")
    seen = {}
    for tag in TAGS:
        async with shell.client(tag) as client:
            queues = (await client.get("/api/queues?columns=name")).json()
            vhosts = (await client.get("/api/vhosts?columns=name")).json()
        seen[tag] = (len(queues), len(vhosts))
    assert seen == {
        "management": (1, 1),
        "policymaker": (1, 1),
        "monitoring": (0, 2),
        "administrator": (2, 2),
    }


async def test_a_vhost_that_is_not_there_is_no_secret() -> None:
    async with Shell().client("management") as client:
        assert (await client.get("/api/queues/nope")).status_code == 404


async def test_inside_a_vhost_permissions_count_as_over_amqp() -> None:
    shell = Shell()
    shell.broker.vhosts["v2"].declare_queue("q")
    shell.permit("administrator", "v2", "", "", "")
    get = {"count": 1, "ackmode": "ack_requeue_true", "encoding": "auto"}
    message = {"routing_key": "q", "properties": {}, "payload": "", "payload_encoding": "string"}
    async with shell.client("administrator") as client:  # sees everything, and may do nothing
        got = await client.post("/api/queues/v2/q/get", json=get)
        purged = await client.delete("/api/queues/v2/q/contents")
        published = await client.post("/api/exchanges/v2/amq.default/publish", json=message)
    assert (got.status_code, got.json()["reason"]) == (
        401,
        "ACCESS_REFUSED - access to queue 'q' in vhost 'v2' refused for user 'administrator'",
    )
    assert (purged.status_code, purged.json()["reason"]) == (401, "Access refused.")
    assert published.status_code == 400
    assert published.json()["reason"] == (
        "403 ACCESS_REFUSED - access to exchange 'amq.default' in vhost 'v2'"
        " refused for user 'administrator'"
    )


async def test_who_has_no_permission_in_a_vhost_opens_no_channel_there() -> None:
    shell = Shell()
    shell.broker.vhosts["v2"].declare_queue("q")
    get = {"count": 1, "ackmode": "ack_requeue_true", "encoding": "auto"}
    message = {"routing_key": "q", "properties": {}, "payload": "", "payload_encoding": "string"}
    async with shell.client("administrator") as client:  # sees everything, and may do nothing
        for answer in (
            await client.post("/api/queues/v2/q/get", json=get),
            await client.post("/api/exchanges/v2/amq.default/publish", json=message),
            await client.get("/api/aliveness-test/v2"),
            await client.post("/api/queues/v2/q/reprocess", json={}),
            await client.delete("/api/queues/v2/q/contents"),
            await client.put("/api/queues/v2/q", json={}),
            await client.put("/api/queues/v2/new", json={}),
            await client.put("/api/exchanges/v2/amq.direct", json={}),
            await client.put("/api/exchanges/v2/new", json={}),
            await client.post("/api/bindings/v2/e/amq.direct/q/q", json={}),
            await client.post("/api/bindings/v2/e/no.such/q/q", json={}),
        ):
            assert (answer.status_code, answer.json()["reason"]) == (401, "Access refused.")
        for answer in (
            await client.put("/api/queues/nope/new", json={}),
            await client.put("/api/exchanges/nope/new", json={}),
            await client.post("/api/bindings/nope/e/amq.direct/q/q", json={}),
        ):
            assert (answer.status_code, answer.json()["reason"]) == (404, "vhost_not_found")
    assert list(shell.broker.vhosts["v2"].queues) == ["q"]


async def test_what_changes_a_vhost_asks_for_the_permission_that_amqp_asks_for() -> None:
    shell = Shell()
    vhost = shell.broker.vhosts["v2"]
    vhost.declare_queue("q")
    vhost.declare_exchange("x", "direct")
    vhost.bind("x", "q", "k", destination_is_queue=True)
    before = (list(vhost.queues), list(vhost.exchanges), len(vhost.bindings_from("x")))
    requests = [
        ("configure", "PUT", "/api/queues/v2/new"),
        ("configure", "DELETE", "/api/queues/v2/q"),
        ("configure", "PUT", "/api/exchanges/v2/new"),
        ("configure", "DELETE", "/api/exchanges/v2/x"),
        ("write", "POST", "/api/bindings/v2/e/x/q/q"),
        ("read", "POST", "/api/bindings/v2/e/x/q/q"),
        ("write", "DELETE", "/api/bindings/v2/e/x/q/q/k"),
        ("read", "DELETE", "/api/bindings/v2/e/x/q/q/k"),
        ("read", "DELETE", "/api/queues/v2/q/contents"),
        ("read", "POST", "/api/queues/v2/q/move"),
        ("write", "POST", "/api/queues/v2/q/move"),
        ("read", "POST", "/api/queues/v2/q/reprocess"),
        ("write", "POST", "/api/queues/v2/q/reprocess"),
        ("configure", "GET", "/api/aliveness-test/v2"),
        ("write", "GET", "/api/aliveness-test/v2"),
        ("read", "GET", "/api/aliveness-test/v2"),
    ]
    async with shell.client("management") as client:
        for missing, method, path in requests:
            granted = dict.fromkeys(("configure", "write", "read"), ".*") | {missing: ""}
            shell.permit("management", "v2", **granted)
            body = {"destination": "q"} if path.endswith("move") else None
            answer = await client.request(method, path, json=body)
            assert answer.status_code == 401, (missing, method, path)
        vhost.delete_queue("aliveness-test")
        after = (list(vhost.queues), list(vhost.exchanges), len(vhost.bindings_from("x")))
        assert after == before
        shell.permit("management", "v2", ".*", ".*", ".*")
        for _, method, path in requests:
            assert (await client.request(method, path)).status_code < 405, (method, path)


async def test_the_overview_is_of_what_its_reader_may_see() -> None:
    shell = Shell()
    shell.broker.vhosts["/"].declare_queue("here")
    shell.broker.vhosts["v2"].declare_queue("q")
    shell.permit("administrator", "v2", ".*", ".*", ".*")
    message = {"routing_key": "q", "properties": {}, "payload": "", "payload_encoding": "string"}
    async with shell.client("administrator") as client:
        await client.post("/api/exchanges/v2/amq.default/publish", json=message)
    seen = {}
    for tag in TAGS:
        async with shell.client(tag) as client:
            row = (await client.get("/api/overview")).json()
            plain = (await client.get("/api/overview?disable_stats=true")).json()
        queues, published = row["object_totals"]["queues"], row.get("message_stats", {})
        assert plain["object_totals"]["queues"] == queues
        seen[tag] = (
            queues, row["queue_totals"]["messages"], published.get("publish"), "node" in row
        )  # fmt: skip
    narrow, whole = (1, 0, None, False), (2, 1, 1, True)
    assert seen == {
        "management": narrow,
        "policymaker": narrow,
        "monitoring": whole,
        "administrator": whole,
    }


async def test_a_vhost_in_a_header_shows_no_more_than_one_in_the_path() -> None:
    shell = Shell()
    shell.broker.vhosts["v2"].declare_queue("q")
    for tag, count in (("management", 0), ("monitoring", 0), ("administrator", 1)):
        async with shell.client(tag) as client:
            answer = await client.get("/api/queues", headers={"x-vhost": "v2"})
            assert len(answer.json()) == count


async def test_connections_are_their_users_and_monitorings() -> None:
    """Who sees what of a connection that belongs to somebody else."""
    lone = LoneBroker()
    shell = Shell()
    for tag in TAGS:
        lone.broker.users.add(User(tag, hash_password(b"secret", b"salt"), (tag,)))
    shell.broker = lone.broker
    connection = lone.client().connection
    for tag, count in (("management", 0), ("policymaker", 0), ("monitoring", 1)):
        async with shell.client(tag) as client:
            assert len((await client.get("/api/connections")).json()) == count
            assert len((await client.get("/api/channels")).json()) == count
            one = await client.get(f"/api/connections/{connection.peer}")
            assert one.status_code == (200 if count else 401)
            of_guest = await client.get("/api/connections/username/guest")
            assert of_guest.status_code == (200 if count else 401)
            own = await client.get(f"/api/connections/username/{tag}")
            assert own.json() == []


async def test_what_the_table_does_not_have_is_for_administrators() -> None:
    assert needs("GET", "/api/of-tomorrow") is Needs.ADMINISTRATOR
    assert needs("PATCH", "/api/queues/{vhost:name}/{queue:name}") is Needs.ADMINISTRATOR


async def test_every_route_is_behind_it() -> None:
    app = build_app(Shell())
    for route in app.routes:
        path = cast(Route, route).path
        if path != "/api/auth":
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(app, client=("127.0.0.1", 1)),
                base_url="http://test",
            ) as stranger:
                for method in cast(Route, route).methods or ():
                    answer = await stranger.request(method, re.sub(r"\{[^}]*\}", "x", path))
                    assert answer.status_code == 401, (method, path)


async def test_an_operator_policy_is_no_policymakers_by_whichever_path() -> None:
    shell = Shell()
    value = {"pattern": ".*", "definition": {"max-length": 5}, "priority": 0}
    path = "/api/parameters/operator_policy/%2F/cap"
    async with shell.client("administrator") as client:
        assert (await client.put(path, json={"value": value})).status_code == 201
    async with shell.client("policymaker") as client:
        for answer in (
            await client.put(path, json={"value": {**value, "pattern": "nothing"}}),
            await client.delete(path),
            await client.delete("/api/operator-policies/%2F/cap"),
        ):
            assert (answer.status_code, answer.json()["reason"]) == (401, A)
        assert (await client.get(path)).json()["value"]["pattern"] == ".*"
        own = await client.put("/api/parameters/policy/%2F/p", json={"value": value})
        assert own.json()["reason"] == "policies may not be set using this method"
    async with shell.client("administrator") as client:
        assert (await client.delete(path)).status_code == 204


EVERYTHING = {"configure": ".*", "write": ".*", "read": ".*"}


def take_tags(shell: Shell) -> None:
    shell.broker.access.put_user("administrator", SECRET, ("monitoring",), {})


def change_password(shell: Shell) -> None:
    other = hash_password(b"other", b"salt")
    shell.broker.access.put_user("administrator", other, ("administrator",), {})


def delete_user(shell: Shell) -> None:
    shell.broker.delete_user("administrator")


SECRET = hash_password(b"secret", b"salt")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (delete_user, "Login failed"),
        (change_password, "Login failed"),
        (take_tags, "Not administrator user"),
    ],
)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/api/users/backdoor", {"password_hash": "", "tags": "administrator"}),
        ("PUT", "/api/vhosts/secret", {}),
        ("PUT", "/api/permissions/%2F/management", EVERYTHING),
        ("POST", "/api/definitions", {"vhosts": [{"name": "secret"}]}),
        ("POST", "/api/users/bulk-delete", {"users": ["monitoring"]}),
    ],
)
async def test_who_may_no_more_when_the_body_is_there_changes_nothing(
    change: Callable[[Shell], None], reason: str, method: str, path: str, body: Any
) -> None:
    shell = Shell()
    rest = json.dumps(body).encode()

    async def arriving() -> AsyncIterator[bytes]:
        yield rest[:1]
        change(shell)
        yield rest[1:]

    before = state_of(shell)
    async with shell.client("administrator") as client:
        json_type = {"content-type": "application/json"}
        answer = await client.request(method, path, content=arriving(), headers=json_type)
    assert (answer.status_code, answer.json()["reason"]) == (401, reason)
    assert state_of(shell) == before


def state_of(shell: Shell) -> tuple[Any, ...]:
    broker = shell.broker
    others = [user for user in broker.users.all() if user.name != "administrator"]
    return list(broker.vhosts), others, broker.access.permissions()


async def test_a_user_is_no_larger_than_its_bound() -> None:
    shell = Shell()
    async with shell.client("administrator") as client:
        answer = await client.put("/api/users/big", json={"tags": "x" * USER_BYTES_MAX})
    assert (answer.status_code, answer.json()["error"]) == (413, "payload_too_large")
    assert "big" not in shell.broker.users
