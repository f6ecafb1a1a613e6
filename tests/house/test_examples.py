"""The examples, as a newcomer runs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pika
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NOTIFICATIONS = EXAMPLES / "notifications"
ORDERS = EXAMPLES / "orders"
ORDER_LINES_MAX = 80
PYTHON_LINES_MAX = 40
TEST_LINES_MAX = 20
"""Lines with anything in them: a newcomer adds so many to a service."""
DEADLINE_S = 60

pytestmark = [pytest.mark.live, pytest.mark.timeout(110)]


def environment(broker: Any, unique: Callable[[str], str]) -> dict[str, str]:
    return {
        **os.environ,
        "MQKIT_URL": broker.url,
        "MQKIT_MANAGEMENT_URL": broker.management_url,
        "UNIT": "ms",
        "EMAIL_QUEUE_NAME": unique("email-queue"),
        "EMAIL_DLQ_NAME": unique("email-dlq"),
        "RABBITMQ_DLX_EXCHANGE": unique("email-dlx"),
    }


def command(words: list[str], variables: dict[str, str], folder: Path = NOTIFICATIONS) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mqkit_cli", *words],
        env=variables,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def until(said: list[str], process: subprocess.Popen[str], word: str) -> str:
    """Read until a line has ``word``; the test's own time limit ends it otherwise."""
    assert process.stdout is not None
    for line in process.stdout:
        said.append(line)
        if word in line:
            return line
    raise AssertionError(f"the service ended without {word!r}: {said}")


def test_the_notification_service(broker: Any, unique: Callable[[str], str]) -> None:
    code = (NOTIFICATIONS / "service.py").read_text().splitlines()
    assert len([line for line in code if line.strip()]) <= PYTHON_LINES_MAX
    variables = environment(broker, unique)
    queue, lot = variables["EMAIL_QUEUE_NAME"], variables["EMAIL_DLQ_NAME"]
    command(["topology", "apply"], variables)
    process = subprocess.Popen(
        [sys.executable, "service.py"],
        env=variables,
        cwd=NOTIFICATIONS,
        stdout=subprocess.PIPE,
        text=True,
    )
    said: list[str] = []
    try:
        for body in ({"to": "ann@example.org", "subject": "hi"}, {"to": "nobody"}):
            command(["publish", "", queue, json.dumps(body), "--message-id", body["to"]], variables)
        assert "ann@example.org" in until(said, process, "sent")
        assert lot in until(said, process, "to on-call:")
        peeked = json.loads(
            command(["dlq", "peek", lot, "-f", "topology.yaml", "--json"], variables)
        )
        assert [(each["queue"], each["attempts"]) for each in peeked] == [(queue, 6)]
        command(
            ["dlq", "replay", lot, "-f", "topology.yaml", "--set", "body.to=no@example.org"],
            variables,
        )
        assert "no@example.org" in until(said, process, "no@example.org")
    finally:
        process.terminate()
        process.wait(DEADLINE_S)
    assert process.returncode == 0
    assert {name: depth(broker, name) for name in (queue, lot)} == {queue: 0, lot: 0}


def test_the_tests_of_the_notification_service(tmp_path: Path) -> None:
    shutil.copytree(NOTIFICATIONS, tmp_path, dirs_exist_ok=True)
    code = (tmp_path / "test_service.py").read_text().splitlines()
    assert len([line for line in code if line.strip()]) <= TEST_LINES_MAX
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_service.py"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert "1 passed" in done.stdout, done.stdout


def test_the_order_workflow(broker: Any, unique: Callable[[str], str], tmp_path: Path) -> None:
    code = (ORDERS / "service.py").read_text().splitlines()
    assert len(code) <= ORDER_LINES_MAX
    names = [unique(name) for name in ("orders", "payments", "shipments")]
    prefix = names[0].removesuffix("orders")
    variables = {
        **os.environ,
        "MQKIT_URL": broker.url,
        "PREFIX": prefix,
        "DATABASE_URL": f"sqlite+aiosqlite:///{tmp_path / 'shop.db'}",
    }
    program = [sys.executable, str(ORDERS / "service.py")]

    def place(customer: str) -> None:
        subprocess.run(
            [*program, "place", customer, "42.5"], env=variables, timeout=DEADLINE_S, check=True
        )

    place("ann")
    process = subprocess.Popen(program, env=variables, stdout=subprocess.PIPE, text=True)
    said: list[str] = []
    try:
        until(said, process, "shipped order 1 to ann")
        for _ in range(3):  # a payment that is told again and again
            words = ["publish", f"{prefix}orders", "order.paid", '{"order_id": 1}']
            command([*words, "--message-id", "again"], variables, ORDERS)
        place("bob")
        until(said, process, "shipped order 2 to bob")
    finally:
        process.terminate()
        process.wait(DEADLINE_S)
    assert process.returncode == 0
    assert [line.split()[2] for line in said] == ["1", "1", "2"]


def depth(broker: Any, queue: str) -> int:
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        state = connection.channel().queue_declare(queue, passive=True)
        return int(state.method.message_count)
