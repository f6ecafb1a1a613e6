"""The modules that a program loads with mqkit: nothing heavy before it is used. No times."""

from __future__ import annotations

import subprocess
import sys

import pytest

ADAPTERS = {"aio_pika", "aiormq", "pika"}
TOOLS = {"httpx", "ruamel.yaml", "rich", "click", "typer"}
"""For a live broker's topology, and for a YAML file; some come with httpx."""
SETTINGS = {"pydantic", "pydantic_settings"}
LATER = {
    "fractions",
    "tenacity",
    "mqkit.health.report",
    "mqkit.lots.link",
    "mqkit.metrics.values",
    "mqkit.observation.event",
    "prometheus_client",
    "mqkit.inbox",
    "mqkit.outbox",
    "sqlalchemy",
    "mqkit.topology.file.read",
    "mqkit.wire",
}
LOOPS = {"asyncio", "anyio"}


def loaded_by(statement: str) -> set[str]:
    program = f"{statement}; import sys; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


@pytest.mark.parametrize(
    ("statement", "unused"),
    [
        ("import mqkit", ADAPTERS | TOOLS | SETTINGS | LATER | LOOPS),
        ("from mqkit import App", ADAPTERS | TOOLS | SETTINGS | LATER),
        ("from mqkit import App; App(transport='native')", ADAPTERS | TOOLS),
        ("from mqkit import App; App(transport='aio-pika')", TOOLS | {"pika"}),
    ],
)
def test_what_is_not_used_is_not_loaded(statement: str, unused: set[str]) -> None:
    assert loaded_by(statement) & unused == set()


def test_what_is_used_is_loaded() -> None:
    """Otherwise the names above might be those of nothing."""
    used = (
        "from mqkit import App, Event, RetryPolicy, inbox, lots, outbox, topology;"
        "App().metrics, App().health(); import mqkit.metrics.prometheus;"
        "App(transport='aio-pika'); outbox.OutboxRow, inbox.InboxRow;"
        "import httpx, ruamel.yaml, pika, mqkit.timing.backoff, mqkit.wire;"
        "topology.load, lots.LotLink; RetryPolicy.growing('1s', times=2);"
        "mqkit.timing.backoff.Backoff(1, 2)"
    )
    assert loaded_by(used) >= ADAPTERS | SETTINGS | LATER | LOOPS | {"httpx", "ruamel.yaml"}
