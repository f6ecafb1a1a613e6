"""`mqkit dlq` against both brokers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pika
import pytest

Unique = Callable[[str], str]


@pytest.fixture
def lot(broker: Any, unique: Unique) -> str:
    """A parking lot of five messages, with the headers of a failure; its queue is there too."""
    queue = unique("q")
    name = f"{queue}.parked"
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.queue_declare(queue, durable=True)
        channel.queue_declare(name, durable=True)
        channel.confirm_delivery()
        for number in range(5):
            headers = {"parity": ("even", "odd")[number % 2], "x-mqkit-parked-reason": "broken"}
            properties = pika.BasicProperties(message_id=f"m{number}", headers=headers)
            channel.basic_publish("", name, f"body {number}".encode(), properties)
    return name


def depth(broker: Any, queue: str) -> int:
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        state = connection.channel().queue_declare(queue, passive=True)
        return int(state.method.message_count)


def owner(lot: str) -> str:
    return lot.removesuffix(".parked")


def test_ls(mqkit: Any, broker: Any, lot: str) -> None:
    at = ["--url", broker.url, "--management-url", broker.management_url]
    answer = mqkit("dlq", "ls", *at, "--json")
    assert answer.returncode == 0, answer.stderr
    assert {"name": lot, "queue": owner(lot), "messages": 5, "consumers": 0} in json.loads(
        answer.stdout
    )
    answer = mqkit("dlq", "ls", *at)
    assert any(text.split() == [lot, owner(lot), "5", "0"] for text in answer.stdout.splitlines())


def test_peek_leaves_everything(mqkit: Any, broker: Any, lot: str) -> None:
    answer = mqkit("dlq", "peek", lot, "--limit", "2", "--url", broker.url, "--json")
    assert answer.returncode == 0, answer.stderr
    assert [found["message_id"] for found in json.loads(answer.stdout)] == ["m0", "m1"]
    answer = mqkit("dlq", "peek", lot, "--url", broker.url)
    assert [text.split()[0] for text in answer.stdout.splitlines()[1:]] == [
        f"m{number}" for number in range(5)
    ]
    assert depth(broker, lot) == 5


def test_replay_chooses(mqkit: Any, broker: Any, lot: str) -> None:
    command = ["dlq", "replay", lot, "--url", broker.url]
    answer = mqkit(*command, "--header", "parity=even", "--dry-run", "--json")
    assert answer.returncode == 0, answer.stderr
    report = json.loads(answer.stdout)
    assert (report["replayed"], report["skipped"], report["dry_run"]) == (3, 2, True)
    assert depth(broker, lot) == 5

    assert mqkit(*command, "--header", "parity=even", "--limit", "1").returncode == 0
    assert (depth(broker, lot), depth(broker, owner(lot))) == (4, 1)
    answer = mqkit(*command, "--header", "parity=even", "--rate", "1000", "--json")
    assert json.loads(answer.stdout)["replayed"] == 2
    assert mqkit(*command, "--id", "m1").returncode == 0
    assert (depth(broker, lot), depth(broker, owner(lot))) == (1, 4)
    answer = mqkit(*command)
    assert answer.returncode == 0
    assert answer.stdout == (
        f"replayed 1 of 1 message to {owner(lot)} (0 not chosen; 0 still in {lot})\n"
    )
    assert (depth(broker, lot), depth(broker, owner(lot))) == (0, 5)


def test_replay_to_another_queue(mqkit: Any, broker: Any, lot: str, unique: Unique) -> None:
    answer = mqkit("dlq", "replay", lot, "--to", unique("nothing"), "--url", broker.url)
    assert answer.returncode == 1
    assert "there is no queue" in answer.stderr
    assert depth(broker, lot) == 5
    other = unique("other")
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        connection.channel().queue_declare(
            other, durable=True, arguments={"x-max-length": 2, "x-overflow": "reject-publish"}
        )
    answer = mqkit("dlq", "replay", lot, "--to", other, "--url", broker.url)
    assert answer.returncode == 1
    assert "stopped" in answer.stderr
    assert depth(broker, lot) + depth(broker, other) == 5
    assert depth(broker, other) == 2


@pytest.mark.parametrize(("answered", "left"), [("n\n", 5), ("", 5), ("y\n", 0)])
def test_purge_asks(mqkit: Any, broker: Any, lot: str, answered: str, left: int) -> None:
    answer = mqkit("dlq", "purge", lot, "--url", broker.url, stdin=answered)
    assert answer.returncode == (0 if left == 0 else 1)
    assert f"Delete 5 messages of {lot}?" in answer.stderr
    assert depth(broker, lot) == left


def test_purge_yes(mqkit: Any, broker: Any, lot: str) -> None:
    answer = mqkit("dlq", "purge", lot, "--yes", "--url", broker.url, "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout) == {"lot": lot, "purged": 5}
    assert depth(broker, lot) == 0


def test_a_queue_at_work_is_not_purged(mqkit: Any, broker: Any, lot: str) -> None:
    answer = mqkit("dlq", "purge", owner(lot), "--yes", "--url", broker.url)
    assert answer.returncode == 1
    assert "not a parking lot" in answer.stderr


@pytest.mark.parametrize(
    "command", [["peek"], ["replay"], ["purge", "--yes"], ["replay", "--where", "x"]]
)
def test_what_is_not_there(mqkit: Any, reference_broker: Any, command: list[str]) -> None:
    answer = mqkit("dlq", command[0], "nothing.parked", *command[1:], "--url", reference_broker.url)
    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1
