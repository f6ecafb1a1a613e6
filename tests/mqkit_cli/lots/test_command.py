"""`mqkit lots run --once` against both brokers: what it does, and one line for what it can't."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pika
import pytest

Unique = Callable[[str], str]
MESSAGES = 5


@pytest.fixture
def lot(broker: Any, unique: Unique, tmp_path: Path) -> str:
    """A parking lot whose messages are due, and a topology that archives them."""
    queue = unique("q")
    name = f"{queue}.parked"
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.queue_declare(name, durable=True)
        channel.confirm_delivery()
        headers = {"x-mqkit-parked-at": "2026-01-01T00:00:00+00:00", "x-mqkit-queue": queue}
        for number in range(MESSAGES):
            properties = pika.BasicProperties(message_id=f"m{number}", headers=headers)
            channel.basic_publish("", name, b"{}", properties)
    (tmp_path / "topology.yaml").write_text(
        f"queues: {{{name}: {{external: true}}}}\n"
        f"lots:\n  {name}:\n"
        "    archive: {after: 1s, to: 'there/{queue}.jsonl.gz'}\n"
        f"    alert: {{depth: {MESSAGES}}}\n"
    )
    return name


def depth(broker: Any, queue: str) -> int:
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        state = connection.channel().queue_declare(queue, passive=True)
        return int(state.method.message_count)


def test_what_is_due_is_archived(mqkit: Any, broker: Any, lot: str, tmp_path: Path) -> None:
    answer = mqkit("lots", "run", "--once", "--url", broker.url)
    assert answer.returncode == 0, answer.stderr
    assert f"{lot}: {MESSAGES} messages archived\n" in answer.stdout
    assert answer.stderr.count("alert:") == 1, answer.stderr
    assert (tmp_path / "there" / f"{lot}.jsonl.gz").exists()
    assert depth(broker, lot) == 0


def test_a_folder_that_is_not_ours_keeps_the_messages(
    mqkit: Any, broker: Any, lot: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "there").write_text("a file")
    answer = mqkit("lots", "run", "--once", "--url", broker.url)
    assert answer.returncode == 1
    words = f"there/{lot}.jsonl.gz can't be written: there is no folder"
    assert answer.stderr.splitlines() == [
        f"mqkit: alert: {lot}: {MESSAGES} messages, and the limit is {MESSAGES}",
        f"mqkit: {lot}: {words}",
        f"mqkit: alert: {lot}: messages can't be archived, and stay: {words}",
        "mqkit: 1 of the lots' steps failed; see above",
    ]
    assert not caplog.records, "a terminal would show these lines as well"
    assert depth(broker, lot) == MESSAGES


def test_a_webhook_that_nobody_serves_is_one_line_without_its_url(
    mqkit: Any, broker: Any, lot: str, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    url = f"http://127.0.0.1:{port}/geheim"
    answer = mqkit("lots", "run", "--once", "--url", broker.url, MQKIT_ALERT_WEBHOOK=url)
    assert answer.returncode == 0, answer.stderr
    (told,) = [each for each in caplog.records if "the alert webhook" in each.getMessage()]
    assert "was not taken: ConnectError" in told.getMessage()
    assert told.exc_info is None
    assert "geheim" not in answer.stdout + answer.stderr + caplog.text


def test_a_webhook_with_a_login_is_refused_without_its_url(
    mqkit: Any, broker: Any, lot: str
) -> None:
    url = "http://user:geheim@127.0.0.1/"
    answer = mqkit("lots", "run", "--once", "--url", broker.url, MQKIT_ALERT_WEBHOOK=url)
    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1
    assert "MQKIT_ALERT_WEBHOOK is not a URL" in answer.stderr
    assert "geheim" not in answer.stderr
    assert depth(broker, lot) == MESSAGES
