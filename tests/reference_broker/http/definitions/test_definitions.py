"""Definitions over HTTP: who may, when it is answered, and that files fit RabbitMQ and us alike."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from reference_broker.core.access.users import User, UserStore, hash_password
from reference_broker.core.broker import Broker
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.work.until import NotYet
from reference_broker.http import Node, build_app
from reference_broker.http.definitions import definitions
from reference_broker.http.definitions.definitions import (
    DEFINITIONS_BYTES_MAX,
    FAULTS_SHOWN_MAX,
    INPUT_STEPS,
    INPUT_UNITS,
    REHEARSALS_MAX,
)
from reference_broker.http.definitions.rehearsal import Rehearsal
from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.runtime.server import Server
from reference_broker.store import Log

pytestmark = pytest.mark.anyio

JSON_TYPE = {"content-type": "application/json"}
ALL = "/api/definitions"
DEFAULT = "/api/definitions/%2F"
FREE = Address("127.0.0.1", 0)

Unique = Callable[[str], str]


class Shell:
    """A server without sockets and disk: the test says when the log is synced."""

    def __init__(self) -> None:
        users = UserStore()
        users.add(User("guest", hash_password(b"guest", b"salt"), ("administrator",)))
        users.add(User("looker", hash_password(b"guest", b"salt"), ("monitoring",)))
        self.log = Log()
        self.broker = Broker(self.log, users)
        self.sync()

    def now(self) -> tuple[float, int]:
        return 1.0, 1_000

    def input_handled(self) -> None:
        """The test looks at the log itself."""

    def node(self) -> Node:
        return Node("test", 0, None, 0, ())

    def sync(self) -> None:
        batch = self.log.take_batch()
        if batch is not None:
            self.log.batch_synced(batch)
        self.broker.synced(self.log.synced, *self.now())

    def client(self, user: str = "guest") -> httpx.AsyncClient:
        transport = httpx.ASGITransport(build_app(self), client=("127.0.0.1", 1))
        return httpx.AsyncClient(transport=transport, base_url="http://test", auth=(user, "guest"))


@pytest.fixture
def shell() -> Shell:
    return Shell()


@pytest.fixture
async def rabbitmq(
    rabbitmq_broker: Any, anyio_backend: str, unique: Unique
) -> AsyncIterator[tuple[httpx.AsyncClient, str]]:
    """RabbitMQ's management API, and the name of a virtual host of the test's own on it."""
    name = unique("vhost")
    async with httpx.AsyncClient(
        base_url=rabbitmq_broker.management_url, auth=("guest", "guest"), trust_env=False
    ) as api:
        (await api.put(f"/api/vhosts/{name}")).raise_for_status()
        try:
            yield api, name
        finally:
            (await api.delete(f"/api/vhosts/{name}")).raise_for_status()


async def turns() -> None:
    """Everything that can go on without the disk has gone on."""
    for _ in range(50):
        await asyncio.sleep(0)


async def until(done: Callable[[], bool]) -> None:
    """Lets the loop have its turns until that is so. Nothing of it needs the disk."""
    for _ in range(100_000):
        if done():
            return
        await asyncio.sleep(0)
    raise AssertionError("it is not done")


def topology(prefix: str = "", **place: str) -> dict[str, Any]:
    """Something of everything, as both brokers export it; with ``vhost="/"`` for a whole broker."""
    queue, inner, x = f"{prefix}q", f"{prefix}inner", f"{prefix}x"
    flags = {"durable": True, "auto_delete": False}
    return {
        "queues": [
            {
                "name": queue, **place, **flags,
                "arguments": {"x-max-length": 5, "x-dead-letter-exchange": "", "mine": [1, "x"]},
            },
        ],
        "exchanges": [
            {
                "name": x, **place, "type": "topic", **flags, "internal": False,
                "arguments": {"alternate-exchange": inner},
            },
            {
                "name": inner, **place, "type": "headers", **flags, "internal": True,
                "arguments": {},
            },
        ],
        "bindings": [
            {
                "source": "amq.topic", **place, "destination": queue, "destination_type": "queue",
                "routing_key": "k.#", "arguments": {},
            },
            {
                "source": x, **place, "destination": inner, "destination_type": "exchange",
                "routing_key": "a.*", "arguments": {},
            },
            {
                "source": inner, **place, "destination": queue, "destination_type": "queue",
                "routing_key": "", "arguments": {"x-match": "all", "n": 5, "b": True, "s": "t"},
            },
        ],
    }  # fmt: skip


def declared(definitions: dict[str, Any]) -> dict[str, list[str]]:
    """The objects of a file, in an order of their own."""
    return {
        kind: sorted(json.dumps(item, sort_keys=True) for item in definitions[kind])
        for kind in ("queues", "exchanges", "bindings")
    }


async def test_a_file_comes_out_as_it_went_in_and_twice_is_once(shell: Shell) -> None:
    async with shell.client() as client:
        for path, place in ((ALL, {"vhost": "/"}), (DEFAULT, {})):
            asking = asyncio.create_task(client.post(path, json=topology(**place)))
            await turns()
            shell.sync()
            assert (await asking).status_code == 204
            assert declared((await client.get(path)).json()) == declared(topology(**place))
        tail = shell.log.tail
        again = await client.post(ALL, json=(await client.get(ALL)).json())
        assert (again.status_code, shell.log.tail) == (204, tail)


async def test_the_answer_waits_for_the_disk(shell: Shell) -> None:
    async with shell.client() as client:
        asking = asyncio.create_task(client.post(DEFAULT, json=topology()))
        await turns()
        assert "q" in shell.broker.vhosts["/"].queues
        same = asyncio.create_task(client.post(DEFAULT, json=topology()))
        await turns()
        assert not asking.done()
        assert not same.done()  # it changed nothing, and is not on disk for that
        shell.sync()
        assert (await asking).status_code == (await same).status_code == 204


async def test_it_is_there_after_a_restart(anyio_backend: str, tmp_path: Any) -> None:
    config = ServerConfig(amqp=FREE, http=FREE, data_dir=tmp_path / "data")
    for is_first in (True, False):
        server = Server(config)
        await server.start()
        try:
            place = f"http://127.0.0.1:{server.http_port}"
            async with httpx.AsyncClient(
                base_url=place, auth=("guest", "guest"), trust_env=False
            ) as api:
                if is_first:
                    assert (await api.post(DEFAULT, json=topology())).status_code == 204
                found = (await api.get(DEFAULT)).json()
        finally:
            await server.stop()
        assert declared(found) == declared(topology())


async def test_one_fault_refuses_all_of_it(shell: Shell) -> None:
    shell.broker.vhosts["/"].declare_queue("q", auto_delete=True)
    wanted = {**topology(vhost="/"), "policies": [{"name": "ha"}], "users": [{"name": "who"}]}
    async with shell.client() as client:
        answer = await client.post(ALL, json=wanted)
    assert answer.status_code == 400
    assert answer.json()["error"] == "bad_request"
    reason = answer.json()["reason"]
    assert reason.startswith("nothing was imported: ")
    for named in ("policies, 'ha': ", "users, 'who': ", "queue 'q': PRECONDITION_FAILED"):
        assert named in reason
    assert "x" not in shell.broker.vhosts["/"].exchanges
    assert shell.log.synced >= shell.log.tail


async def test_what_is_skipped_is_told(shell: Shell) -> None:
    queue = {"name": "amq.gen-x", "durable": True, "auto_delete": False}
    async with shell.client() as client:
        answer = await client.post(DEFAULT, json={"queues": [queue]})
    assert (answer.status_code, answer.json()) == (200, {"skipped": ["queue 'amq.gen-x'"]})
    assert not shell.broker.vhosts["/"].queues


async def test_many_faults_are_counted(shell: Shell) -> None:
    rows = [{"user": str(number)} for number in range(FAULTS_SHOWN_MAX + 5)]
    async with shell.client() as client:
        reason = (await client.post(ALL, json={"shovels": rows})).json()["reason"]
    last = f"'{FAULTS_SHOWN_MAX - 1}': this broker has no shovels; and 5 more"
    assert reason.endswith(last)


async def test_only_administrators(shell: Shell) -> None:
    async with shell.client("looker") as client:
        for method, path in itertools.product(("GET", "POST"), (ALL, DEFAULT)):
            answer = await client.request(method, path, json={})
            assert answer.status_code == 401
            assert answer.json() == {
                "error": "not_authorised",
                "reason": "Not administrator user",
            }


async def test_what_is_no_file(shell: Shell) -> None:
    async with shell.client() as client:
        for body in (b"nope", b"[]", b"5", b"[" * 100_000):
            answer = await client.post(ALL, content=body, headers=JSON_TYPE)
            assert answer.status_code == 400
        for nothing in (b"", b"{}"):
            assert (await client.post(ALL, content=nothing, headers=JSON_TYPE)).status_code == 204
        large = await client.post(
            ALL, content=b" " * (DEFINITIONS_BYTES_MAX + 1), headers=JSON_TYPE
        )
        assert large.status_code == 413
        for method in ("GET", "POST"):
            unknown = await client.request(method, "/api/definitions/nope", json={})
            assert unknown.status_code == 404
        assert (await client.put(ALL, json={})).status_code == 405


@pytest.mark.rabbitmq
async def test_what_rabbitmq_exports_is_imported(
    shell: Shell, rabbitmq: tuple[httpx.AsyncClient, str]
) -> None:
    api, name = rabbitmq
    (await api.post(f"/api/definitions/{quote(name)}", json=topology())).raise_for_status()
    single = (await api.get(f"/api/definitions/{quote(name)}")).json()
    assert declared(single) == declared(topology())
    whole = (await api.get(ALL)).json()
    for kind, items in whole.items():  # other tests may have left something elsewhere
        if isinstance(items, list):
            whole[kind] = [
                {**item, "vhost": "/"} if kind in single else item
                for item in items
                if item.get("vhost", name) == name or (kind == "permissions")
            ]
    whole["users"] = [user for user in whole["users"] if user["name"] == "guest"]
    whole["permissions"] = [
        row for row in whole["permissions"] if (row["vhost"], row["user"]) == ("/", "guest")
    ]
    whole["vhosts"] = [row for row in whole["vhosts"] if row["name"] == "/"]
    assert whole["users"]
    assert whole["permissions"]
    async with shell.client() as client:
        for path, file in ((DEFAULT, single), (ALL, whole)):
            asking = asyncio.create_task(client.post(path, json=file))
            await turns()
            shell.sync()
            answer = await asking
            assert answer.status_code == 204, answer.text
        assert declared((await client.get(DEFAULT)).json()) == declared(topology())


@pytest.mark.rabbitmq
async def test_what_is_exported_here_is_imported_by_rabbitmq(
    shell: Shell, rabbitmq: tuple[httpx.AsyncClient, str], unique: Unique
) -> None:
    api, name = rabbitmq
    user, prefix = unique("user"), unique("")
    shell.broker.access.store_user(User(user, hash_password(b"pa:ss", b"SALT"), ("monitoring",)))
    shell.broker.access.allow_everything(user, "/")
    shell.broker.access.delete_user("looker")
    async with shell.client() as client:
        asking = asyncio.create_task(client.post(DEFAULT, json=topology(prefix)))
        await turns()
        shell.sync()
        assert (await asking).status_code == 204
        single, whole = (await client.get(DEFAULT)).json(), (await client.get(ALL)).json()
    try:
        (await api.post(f"/api/definitions/{quote(name)}", json=single)).raise_for_status()
        found = (await api.get(f"/api/definitions/{quote(name)}")).json()
        assert declared(found) == declared(topology(prefix))
        (await api.post(ALL, json=whole)).raise_for_status()
        found = (await api.get(DEFAULT)).json()
        for kind, items in declared(topology(prefix)).items():
            assert set(items) <= set(declared(found)[kind])
        whoami = await api.get("/api/whoami", auth=(user, "pa:ss"))
        assert whoami.json() == {"name": user, "tags": ["monitoring"]}
        assert (await api.get("/api/whoami", auth=("guest", "guest"))).status_code == 200
        permissions = (await api.get(f"/api/users/{user}/permissions")).json()
        assert [row["write"] for row in permissions] == [".*"]
    finally:
        await api.delete(f"/api/users/{user}")
        await api.delete(f"/api/queues/%2F/{prefix}q")
        for exchange in ("x", "inner"):
            await api.delete(f"/api/exchanges/%2F/{prefix}{exchange}")


def many(count: int) -> dict[str, Any]:
    row = {"vhost": "/", "durable": True, "auto_delete": False}
    return {"queues": [{"name": f"q{number}", **row} for number in range(count)]}


async def test_a_large_file_is_many_inputs(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same one large input would keep everybody waiting for seconds."""
    declared: list[int] = []
    finish, queues = shell.broker.finish, shell.broker.vhosts["/"].queues

    def counted() -> None:
        declared.append(len(queues) - sum(declared))
        finish()

    monkeypatch.setattr(shell.broker, "finish", counted)
    async with shell.client() as client:
        loading = asyncio.create_task(client.post(ALL, json=many(1_000)))
        await until(lambda: len(queues) == 1_000)
        await turns()
        assert not loading.done()
        shell.sync()
        assert (await loading).status_code == 204
    assert max(declared) <= INPUT_STEPS
    assert len(declared) > 1_000 // INPUT_STEPS


async def test_a_rehearsal_that_is_overtaken_is_done_again(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    vhost, begun = shell.broker.vhosts["/"], 0

    class Overtaken(Rehearsal):
        def __init__(self, *arguments: Any) -> None:
            nonlocal begun
            begun += 1
            super().__init__(*arguments)

        def read(self) -> Iterator[None]:
            yield from super().read()
            if begun <= 2:
                vhost.declare_queue(f"other{begun}", durable=True)
            if begun == 2:  # what was no fault is one now
                vhost.declare_queue("q5", durable=False)

    monkeypatch.setattr(definitions, "Rehearsal", Overtaken)
    async with shell.client() as client:
        answer = await client.post(ALL, json=many(300))
        assert (answer.status_code, begun) == (400, 3)
        assert answer.json()["reason"].startswith("nothing was imported: queue 'q5': PRECONDITION")
        assert list(vhost.queues) == ["other1", "other2", "q5"]


async def test_an_import_among_many_declarations_comes_to_an_end(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    vhost, begun = shell.broker.vhosts["/"], 0

    class Overtaken(Rehearsal):
        def read(self) -> Iterator[None]:
            nonlocal begun
            begun += 1
            yield from super().read()
            if begun <= REHEARSALS_MAX:
                vhost.declare_queue(f"other{begun}")
                return
            with pytest.raises(NotYet):
                vhost.declare_queue("q5", durable=False)
            vhost.reroute()  # something that nobody has to wait with

    monkeypatch.setattr(definitions, "Rehearsal", Overtaken)
    async with shell.client() as client:
        loading = asyncio.create_task(client.post(ALL, json=many(10)))
        await until(lambda: "q9" in vhost.queues)
        await turns()
        shell.sync()
        assert (await loading).status_code == 204
    assert begun == REHEARSALS_MAX + 1


async def test_what_others_prevent_while_it_is_made_is_told(shell: Shell) -> None:
    vhost = shell.broker.vhosts["/"]
    row = {"vhost": "/", "destination_type": "queue", "routing_key": "k", "source": "amq.topic"}
    bindings = [{**row, "destination": f"q{number}"} for number in range(300)]
    async with shell.client() as client:
        loading = asyncio.create_task(client.post(ALL, json={**many(300), "bindings": bindings}))
        await until(lambda: "q299" in vhost.queues)
        vhost.queue_expired(vhost.queues["q299"])
        await until(lambda: len(vhost.bindings_from("amq.topic")) == 299)
        await turns()
        shell.sync()
        answer = await loading
    assert (answer.status_code, answer.json()["error"]) == (409, "overtaken")
    assert answer.json()["reason"].endswith(
        "all was imported but: binding 'amq.topic' -> 'q299': NOT_FOUND - no queue 'q299' in"
        " vhost '/'"
    )


@pytest.fixture
def goes_on(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """An import waits for it after the first portion."""
    event = asyncio.Event()

    async def waits(request: object) -> None:
        await event.wait()

    monkeypatch.setattr(definitions, "next_turn", waits)
    return event


async def test_others_declare_there_when_the_import_is_made(
    shell: Shell, goes_on: asyncio.Event
) -> None:
    """A queue of theirs would be a fault that the rehearsal has not seen."""
    broker, vhost = shell.broker, shell.broker.vhosts["/"]
    async with shell.client() as client, shell.client() as other:
        broker.add_vhost("free")
        broker.access.allow_everything("guest", "free")
        row = {"vhost": "/", "destination_type": "queue", "routing_key": "k", "source": "amq.topic"}
        bindings = [{**row, "destination": f"q{number}"} for number in range(300)]
        loading = asyncio.create_task(client.post(ALL, json={**many(300), "bindings": bindings}))
        await until(lambda: "q99" in vhost.queues)

        waiting = [
            asyncio.create_task(other.put("/api/queues/%2F/q299", json={"durable": False})),
            asyncio.create_task(other.put("/api/exchanges/%2F/x", json={"durable": False})),
            asyncio.create_task(other.post("/api/bindings/%2F/e/amq.fanout/q/q1", json={})),
            asyncio.create_task(other.delete("/api/queues/%2F/q0")),
            asyncio.create_task(other.put("/api/vhost-limits/%2F/max-queues", json={"value": 5})),
            asyncio.create_task(
                other.put("/api/policies/%2F/p", json={"pattern": "", "definition": {"expires": 9}})
            ),
        ]
        assert (await other.put("/api/queues/free/q", json={})).status_code == 201
        assert (await other.get("/api/queues/%2F/q1")).status_code == 200
        await turns()
        shell.sync()
        await turns()
        assert not any(each.done() for each in waiting)
        assert (len(vhost.queues), vhost.bindings_from("amq.topic")) == (INPUT_STEPS, [])

        goes_on.set()
        await until(waiting[0].done)
        assert len(vhost.bindings_from("amq.topic")) >= 299
        for _ in range(5):
            await turns()
            shell.sync()
        answers = [(await each).status_code for each in waiting]
        assert answers == [400, 201, 201, 204, 204, 201]
        assert (await loading).status_code == 204
        assert ("q0" in vhost.queues, vhost.queues["q299"].durable) == (False, True)


async def test_an_import_whose_client_leaves_keeps_nobody_waiting(
    shell: Shell, goes_on: asyncio.Event
) -> None:
    vhost = shell.broker.vhosts["/"]
    async with shell.client() as client, shell.client() as other:
        loading = asyncio.create_task(client.post(ALL, json=many(1_000)))
        await until(lambda: "q99" in vhost.queues)
        waiting = asyncio.create_task(other.put("/api/queues/%2F/mine", json={}))
        await turns()
        assert not waiting.done()

        loading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loading
        assert (await waiting).status_code == 201
        assert len(vhost.queues) == INPUT_STEPS + 1


async def test_an_import_that_is_refused_keeps_nobody_waiting(shell: Shell) -> None:
    shell.broker.vhosts["/"].declare_queue("q5", durable=False)
    async with shell.client() as client:
        assert (await client.post(ALL, json=many(300))).status_code == 400
        assert (await client.put("/api/queues/%2F/mine", json={})).status_code == 201


async def test_imports_into_one_virtual_host_follow_each_other(
    shell: Shell, goes_on: asyncio.Event
) -> None:
    vhost = shell.broker.vhosts["/"]
    async with shell.client() as client:
        first = asyncio.create_task(client.post(ALL, json=many(300)))
        await until(lambda: "q99" in vhost.queues)
        second = asyncio.create_task(client.post(DEFAULT, json=many(400)))
        await turns()
        goes_on.set()
        await until(lambda: "q399" in vhost.queues)
        assert list(vhost.queues) == [f"q{number}" for number in range(400)]
        await turns()
        shell.sync()
        assert [(await first).status_code, (await second).status_code] == [204, 204]


async def test_a_portion_of_an_import_ends_by_what_it_costs(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy is compared with every queue there is: a hundred of them would be a long turn."""
    vhost, spent = shell.broker.vhosts["/"], [0]
    for number in range(5_000):
        vhost.declare_queue(f"{number}")
    finish, left = shell.broker.finish, shell.broker.budget.left

    def counted() -> None:
        nonlocal left
        spent.append(left - shell.broker.budget.left)
        left = shell.broker.budget.left
        finish()

    monkeypatch.setattr(shell.broker, "finish", counted)
    row = {"vhost": "/", "pattern": "^x", "definition": {"expires": 9}}
    policies = [{**row, "name": f"{number}"} for number in range(500)]
    async with shell.client() as client:
        loading = asyncio.create_task(client.post(ALL, json={"policies": policies}))
        await until(lambda: len(vhost.policies.of(PolicyKind.USER)) == 500)
        await turns()
        shell.sync()
        assert (await loading).status_code == 204
    assert max(spent) < 1.5 * INPUT_UNITS
    assert sum(spent) > 3 * INPUT_UNITS
