"""A real Prometheus scrapes an app, and each panel of docs/grafana/app.json has something to show.

Debian's is looked for; `.ci/run` installs it.
"""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from mqkit import App, Delivery
from mqkit.testing.servers.free_ports import free_ports
from mqkit.topology import loads

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT_S = 60.0
BOARD = Path(__file__).resolve().parents[4] / "docs" / "grafana" / "app.json"
CONFIG = """
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: orders
    static_configs: [{{targets: ["{target}"]}}]
"""


def start(folder: Path, target: str) -> tuple[subprocess.Popen[bytes], str]:
    """A Prometheus that scrapes ``target``, and its own address."""
    binary = shutil.which("prometheus")
    if binary is None:
        pytest.skip("no prometheus here: apt-get install prometheus")
    (folder / "prometheus.yaml").write_text(CONFIG.format(target=target))
    place = f"127.0.0.1:{free_ports(1)[0]}"
    command = [binary, f"--config.file={folder / 'prometheus.yaml'}"]
    command += [f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address={place}"]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT), place


async def asked(api: httpx.AsyncClient, expression: str) -> list[Any]:
    """The rows of the first answer that is not empty."""
    async with asyncio.timeout(WAIT_S):
        while True:
            try:
                answer = await api.get("/api/v1/query", params={"query": expression})
            except httpx.TransportError:  # it is not listening yet
                continue
            if answer.status_code == 200 and (rows := answer.json()["data"]["result"]):
                return list(rows)


async def test_a_prometheus_has_what_the_app_counts(
    broker: Any, unique: Callable[[str], str], tmp_path: Path
) -> None:
    queue = unique("orders")
    topology = loads(f"queues:\n  {queue}: {{expires: 1m}}\n")
    app = App(broker.url, topology, health="127.0.0.1:0")
    handled = asyncio.Event()

    @app.consumer(queue)
    async def pay(body: bytes) -> None:
        if body == b"last":
            handled.set()

    async with app:
        assert app.health_address is not None
        for body in (b"first", b"last"):
            assert await app.publish("", queue, body)
        await handled.wait()
        process, place = start(tmp_path, app.health_address)
        try:
            async with httpx.AsyncClient(base_url=f"http://{place}", trust_env=False) as api:
                (acked,) = await asked(api, 'mqkit_settled_total{settlement="acked"} == 2')
                assert acked["metric"]["queue"] == queue
                assert acked["metric"]["handler"].endswith("pay")
                latency = "histogram_quantile(1, mqkit_confirm_latency_seconds_bucket) > 0"
                (confirmed,) = await asked(api, latency)
                assert confirmed["metric"]["exchange"] == "amq.default"
                assert await asked(api, 'mqkit_connection_state{state="ready"} == 1')
                assert await asked(api, 'up{job="orders"} == 1')
        finally:
            process.terminate()
            await asyncio.to_thread(process.wait)


def panels() -> dict[str, str]:
    """The expressions of the dashboard, by panel and letter, for the job ``orders``."""
    found = {}
    for panel in json.loads(BOARD.read_text())["panels"]:
        for target in panel["targets"]:
            text = target["expr"].replace("$__rate_interval", "10s").replace("$job", "orders")
            found[f"{panel['title']} {target['refId']}"] = text
    return found


async def test_every_panel_of_the_dashboard_has_something_to_show(
    broker: Any, unique: Callable[[str], str], tmp_path: Path
) -> None:
    queue = unique("orders")
    retry = "{after: [50ms], then: park}"
    topology = loads(f"queues:\n  {queue}: {{retry: {retry}}}\n")
    app = App(broker.url, topology, health="127.0.0.1:0")

    @app.consumer(queue)
    async def pay(body: bytes, delivery: Delivery) -> None:
        if delivery.attempt == 1:
            raise ValueError("not yet")

    async def shown(api: httpx.AsyncClient, expression: str) -> None:
        """Handle messages until the expression has a number."""
        async with asyncio.timeout(WAIT_S):
            while True:
                assert await app.publish("", queue, b"x", timestamp=datetime.now(UTC))
                rows = await asked(api, expression)
                if any(math.isfinite(float(row["value"][1])) for row in rows):
                    return

    async with app:
        assert app.health_address is not None
        process, place = start(tmp_path, app.health_address)
        try:
            async with httpx.AsyncClient(base_url=f"http://{place}", trust_env=False) as api:
                for title, expression in panels().items():
                    assert "$" not in expression, title
                    await shown(api, expression)
        finally:
            process.terminate()
            await asyncio.to_thread(process.wait)
