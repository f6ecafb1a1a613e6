"""The definitions that both brokers give, imported: the same objects as a snapshot has."""

from __future__ import annotations

import base64
import json
import urllib.request
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from mqkit.topology import apply, compile_topology, import_definitions, loads, plan
from mqkit.topology.exporting.definitions import OBJECTS

TIMEOUT_S = 20


def ask(management_url: str, path: str) -> dict[str, Any]:
    parts = urlsplit(management_url)
    login = base64.b64encode(f"{parts.username}:{parts.password}".encode()).decode()
    request = urllib.request.Request(
        f"{parts.scheme}://{parts.hostname}:{parts.port}{path}",
        headers={"authorization": f"Basic {login}"},
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        found: dict[str, Any] = json.load(answer)
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

    found = ask(bench.management_url, path.format(vhost=quote(vhost, safe="")))
    rows = {
        kind: [row for row in found[kind] if bench.owns(row.get("name", row.get("destination")))]
        for kind in OBJECTS
    }
    imported = import_definitions(json.dumps({**found, **rows}).encode(), vhost)
    live = await bench.snapshot()
    assert sorted(map(str, imported.snapshot.declarations)) == sorted(map(str, live.declarations))
    assert not plan(compile_topology(loads(imported.text)), live).changes
    assert "retry: {after: [1s, 5s], then: park}" in imported.text
