"""A definitions file imported at one node of a cluster: all nodes have it, or the answer says how
far it came, and the same file again brings the rest."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from reference_broker.cluster.coordinator import Refused
from reference_broker.cluster.metadata.proposals import PATIENCE_S
from reference_broker.core.access.users import User, hash_password
from reference_broker.core.work.task import agreed
from reference_broker.http import Node, build_app
from reference_broker.testing.sharing_brokers import SharingBrokers

pytestmark = pytest.mark.anyio

QUEUES = 150
OBJECTS = 2 * QUEUES + 1
"""The exchange, the queues, and a binding for each."""


class Shell:
    """The management API of node ``a``. Etcd answers one request after each of its inputs, and
    refuses all of them once there are ``answers_left`` no more."""

    def __init__(self) -> None:
        self.nodes = SharingBrokers("a", "b")
        self.broker = self.nodes["a"].lone.broker
        self.answers_left = 1_000
        admin = User("admin", hash_password(b"secret", b"salt"), ("administrator",))
        for act in (
            lambda: self.broker.access.store_user(admin),
            lambda: self.broker.access.allow_everything("admin", "/"),
        ):
            self.broker.work.start(agreed(act), "")
            self.nodes.settle()

    def now(self) -> tuple[float, int]:
        return 1.0, 1_000

    def node(self) -> Node:
        return Node("a", 0, None, 0, ())

    def input_handled(self) -> None:
        asyncio.get_running_loop().call_soon(self._turn_ends)

    def _turn_ends(self) -> None:
        self.answers_left -= 1
        if self.answers_left > 0:
            self.nodes.settle()
        else:
            self.nodes.refusal = Refused("no etcd")
            self.nodes.clock.forward(PATIENCE_S)
            self.nodes.pass_on()
            self.nodes["a"].lone.complete()

    async def post(self, file: dict[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(build_app(self), client=("127.0.0.1", 1))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://test", auth=("admin", "secret")
        ) as client:
            return await client.post("/api/definitions", json=file)


def file() -> dict[str, Any]:
    flags = {"durable": True, "auto_delete": False, "arguments": {}}
    names = [f"q {number}" for number in range(QUEUES)]
    to = {"source": "x", "vhost": "/", "destination_type": "queue", "arguments": {}}
    return {
        "users": [
            {"name": f"user {number}", "password_hash": "", "tags": ""} for number in range(3)
        ],
        "permissions": [
            {"user": "user 1", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}
        ],
        "exchanges": [{"name": "x", "vhost": "/", "type": "direct", "internal": False, **flags}],
        "queues": [{"name": name, "vhost": "/", **flags} for name in names],
        "bindings": [{**to, "destination": name, "routing_key": name} for name in names],
    }


async def test_all_nodes_have_it() -> None:
    shell = Shell()
    answer = await shell.post(file())
    assert answer.status_code == 204, answer.text
    there = shell.nodes["b"].lone.broker
    assert {f"user {number}" for number in range(3)} <= {user.name for user in there.users.all()}
    vhost = there.vhosts["/"]
    assert len(vhost.queues) == QUEUES
    assert sum(binding.source == "x" for binding in vhost.bindings()) == QUEUES


@pytest.mark.parametrize("answers", [1, 3, 5, 7])
async def test_without_etcd_it_says_how_far_it_came_and_goes_on_from_there(answers: int) -> None:
    shell = Shell()
    shell.answers_left = answers
    answer = await shell.post(file())
    assert answer.status_code == 503, answer.text
    reason = answer.json()["reason"]
    done, _, rest = reason.partition(" of ")
    assert rest.startswith(f"{OBJECTS} exchanges, queues and bindings were imported: the change")
    assert reason.endswith("The same file again brings what is missing")
    print(f"{done} objects were imported")
    assert int(done) < OBJECTS

    shell.nodes.refusal, shell.answers_left = None, 1_000
    assert (await shell.post(file())).status_code == 204
    vhost = shell.nodes["b"].lone.broker.vhosts["/"]
    assert len(vhost.queues) == QUEUES
    assert sum(binding.source == "x" for binding in vhost.bindings()) == QUEUES
