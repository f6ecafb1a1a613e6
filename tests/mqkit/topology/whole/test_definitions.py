"""The definitions that both brokers give, imported: the same objects as a snapshot has."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from mqkit.topology import apply, compile_topology, import_definitions, loads, plan
from mqkit.topology.exporting.definitions import OBJECTS

pytestmark = pytest.mark.anyio

TIMEOUT_S = 20


async def ask(bench: Any, path: str) -> dict[str, Any]:
    login = (bench.endpoint.credentials.username, bench.endpoint.credentials.password)
    async with httpx.AsyncClient(auth=login, timeout=TIMEOUT_S, trust_env=False) as client:
        answer = await client.get(f"{bench.management_url}{path}")
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found


@pytest.mark.parametrize("path", ["/api/definitions", "/api/definitions/{vhost}"])
async def test_definitions_say_what_a_snapshot_says(bench: Any, path: str) -> None:
    name, vhost = bench.prefix, bench.endpoint.vhost
    topology = loads(
        f"exchanges:\n  {name}.x: {{type: topic}}\n  {name}.y: {{alternate: {name}.x}}\n"
        f"queues:\n  {name}.q:\n    bind: [{{from: {name}.x, key: 'a.#', arguments: {{b: 1}}}}]\n"
        f"    max_length: 5\n    retry: {{after: [1s, 5s]}}\n"
    )
    wanted = compile_topology(topology)
    await apply(plan(wanted, await bench.snapshot()), bench.open_channel)

    found = await ask(bench, path.format(vhost=quote(vhost, safe="")))
    rows = {
        kind: [row for row in found[kind] if bench.owns(row.get("name", row.get("destination")))]
        for kind in OBJECTS
    }
    imported = import_definitions(json.dumps({**found, **rows}).encode(), vhost)
    live = await bench.snapshot()
    assert sorted(map(str, imported.snapshot.declarations)) == sorted(map(str, live.declarations))
    assert not plan(compile_topology(loads(imported.text)), live).changes
    assert "retry: {after: [1s, 5s], then: park}" in imported.text
