"""Policies and parameters in definitions files, in and out, and both ways with RabbitMQ."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from starlette.requests import Request

from reference_broker.core.access.users import UserStore
from reference_broker.core.broker import Broker
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.policy.global_parameters import MAX_GLOBAL_PARAMETERS
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.vhost.policies import MAX_POLICIES
from reference_broker.http.definitions.export import exported
from reference_broker.http.definitions.policies import PolicyDefinitions

ALL = "/api/definitions"
DEFAULT = "/api/definitions/%2F"

POLICY = {
    "vhost": "/", "name": "p", "pattern": "^none$", "apply-to": "queues",
    "definition": {"max-length": 5, "overflow": "reject-publish"}, "priority": 3,
}  # fmt: skip
OPERATOR = {
    "vhost": "/", "component": "operator_policy", "name": "o",
    "value": {
        "pattern": "^none$", "apply-to": "all", "definition": {"expires": 9000}, "priority": -1,
    },
}  # fmt: skip
GLOBAL = {"name": "mqtt", "value": {"a": 1}}
FILE = {"policies": [POLICY], "parameters": [OPERATOR], "global_parameters": [GLOBAL]}


@pytest.fixture
def broker() -> Broker:
    return Broker(MemoryJournal(), UserStore(), version="1")


def read(body: Any, vhost: str | None, broker: Broker) -> PolicyDefinitions:
    found = PolicyDefinitions(vhost, broker.vhosts, broker)
    list(found.read(body))
    return found


async def out(broker: Broker) -> dict[str, Any]:
    pieces = exported(broker, Request({"type": "http"}))
    found = json.loads(b"".join([piece async for piece in pieces]))
    return {name: found[name] for name in FILE}


@pytest.mark.anyio
async def test_they_come_out_as_they_went_in(broker: Broker) -> None:
    file = read(FILE, None, broker)
    assert file.faults == []
    assert not broker.vhosts["/"].policies.of(PolicyKind.USER)
    list(file.apply())
    assert await out(broker) == FILE
    tail = broker.journal.tail
    again = read({"policies": [POLICY], "parameters": [OPERATOR]}, None, broker)
    list(again.apply())
    assert broker.journal.tail == tail


@pytest.mark.anyio
async def test_what_is_there_is_overwritten(broker: Broker) -> None:
    list(read(FILE, None, broker).apply())
    changed = {**POLICY, "priority": 9}
    list(read({"policies": [changed], "global_parameters": []}, None, broker).apply())
    assert await out(broker) == {**FILE, "policies": [changed]}


def test_a_file_of_one_virtual_host_goes_into_any(broker: Broker) -> None:
    broker.add_vhost("other")
    file = read(FILE, "other", broker)
    list(file.apply())
    assert not broker.vhosts["/"].policies.of(PolicyKind.USER)
    assert [policy.name for policy in broker.vhosts["other"].policies.of(PolicyKind.USER)] == ["p"]


def test_what_says_which_cluster_it_was_is_not_taken(broker: Broker) -> None:
    names = ("internal_cluster_id", "cluster_name")
    rows = [{"name": name, "value": "x"} for name in names]
    file = read({"global_parameters": rows}, None, broker)
    assert file.faults == []
    list(file.apply())
    assert broker.global_parameters.items() == [("cluster_name", "x")]


@pytest.mark.parametrize(
    ("file", "fault"),
    [
        ({"policies": {}}, "policies: {} is not a list"),
        ({"policies": [5]}, "policies, item 1: 5 is not an object"),
        ({"policies": [{**POLICY, "vhost": "no"}]}, "policies, 'p': there is no vhost 'no'"),
        ({"policies": [{"name": "p"}]}, "policies, 'p': vhost is missing"),
        ({"policies": [{**POLICY, "name": 5}]}, "policies, item 1: name is 5"),
        (
            {"policies": [{**POLICY, "definition": {"nope": 5}}]},
            "policies, 'p': [{<<\"nope\">>,5}] are not recognised policy settings",
        ),
        (
            {"parameters": [{**OPERATOR, "component": "shovel"}]},
            "parameters, 'o': component shovel not found",
        ),
        (
            {"parameters": [{**OPERATOR, "component": "policy"}]},
            "parameters, 'o': policies may not be set using this method",
        ),
        ({"parameters": [{**OPERATOR, "value": 5}]}, "parameters, 'o': o not a list 5"),
        ({"global_parameters": [{"name": "g"}]}, "global_parameters, item 1: value is missing"),
        (
            {"global_parameters": [{"name": "g", "value": "x" * 100_000}]},
            "global_parameters, item 1: a value is at most",
        ),
        (
            {"policies": [{**POLICY, "name": str(each)} for each in range(MAX_POLICIES + 1)]},
            f"vhost '/': it would have {MAX_POLICIES + 1} policies of kind policy",
        ),
        (
            {
                "policies": [
                    {**POLICY, "name": str(each), "pattern": "(((a|b){0,30}){0,30})x"}
                    for each in range(20)
                ]
            },
            "vhost '/': the patterns of a virtual host's policies of a kind have at most",
        ),
        (
            {
                "global_parameters": [
                    {"name": str(each), "value": 1} for each in range(MAX_GLOBAL_PARAMETERS + 1)
                ]
            },
            f"it would have {MAX_GLOBAL_PARAMETERS + 1} global parameters",
        ),
    ],
)
def test_faults_have_names(broker: Broker, file: Any, fault: str) -> None:
    (found,) = read(file, None, broker).faults
    assert found.startswith(fault)


@pytest.fixture
async def elsewhere(
    rabbitmq_broker: Any, anyio_backend: str, unique: Callable[[str], str]
) -> AsyncIterator[tuple[httpx.AsyncClient, str]]:
    """RabbitMQ's management API, and the name of a virtual host of the test's own on it."""
    name = unique("vhost")
    async with httpx.AsyncClient(
        base_url=rabbitmq_broker.management_url, auth=("guest", "guest"), trust_env=False
    ) as api:
        (await api.put(f"/api/vhosts/{name}")).raise_for_status()
        yield api, name
        (await api.delete(f"/api/vhosts/{name}")).raise_for_status()


@pytest.mark.rabbitmq
@pytest.mark.anyio
async def test_both_ways_with_rabbitmq(
    api: httpx.AsyncClient, elsewhere: tuple[httpx.AsyncClient, str]
) -> None:
    theirs, vhost = elsewhere
    path = f"/api/definitions/{quote(vhost)}"
    file = {"policies": [POLICY], "parameters": [OPERATOR]}
    (await theirs.post(path, json=file)).raise_for_status()
    exported = (await theirs.get(path)).json()
    assert [row["name"] for row in exported["policies"]] == ["p"]
    assert (await api.post(DEFAULT, json=exported)).status_code == 204
    mine = (await api.get(DEFAULT)).json()
    assert {key: mine[key] for key in file} == file
    mine["policies"][0]["priority"] = 8
    (await theirs.post(path, json=mine)).raise_for_status()
    back = (await theirs.get(path)).json()
    assert back["policies"] == [{**POLICY, "priority": 8, "vhost": vhost}]
    assert back["parameters"] == [{**OPERATOR, "vhost": vhost}]
    whole = (await theirs.get(ALL)).json()
    rows = [{**row, "vhost": "/"} for row in whole["policies"] if row["vhost"] == vhost]
    assert (await api.post(ALL, json={"policies": rows})).status_code == 204
    assert (await api.get("/api/policies/%2F/p")).json()["priority"] == 8
