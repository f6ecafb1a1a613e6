"""`mqkit consume`: exactly so many, acked after they were printed, or put back in their places."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pika
import pytest

Unique = Callable[[str], str]


@pytest.fixture
def queue(broker: Any, unique: Unique) -> str:
    """A queue with the messages 0 to 249."""
    name = unique("q")
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.queue_declare(name, durable=True)
        channel.confirm_delivery()
        for number in range(250):
            channel.basic_publish("", name, str(number).encode())
    return name


def rest(broker: Any, queue: str) -> list[tuple[str, bool]]:
    """The bodies that are still in the queue, each with its redelivered flag."""
    found: list[tuple[str, bool]] = []
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        while True:
            method, _, body = channel.basic_get(queue, auto_ack=True)
            if method is None or body is None:
                return found
            found.append((body.decode(), method.redelivered))


def shown(answer: Any) -> list[str]:
    return [text.rpartition("\t")[2] for text in answer.stdout.splitlines()]


def test_a_count_takes_exactly_so_many_and_marks_no_other(
    mqkit: Any, broker: Any, queue: str
) -> None:
    answer = mqkit("consume", queue, "--count", "130", "--url", broker.url)
    assert answer.returncode == 0, answer.stderr
    assert shown(answer) == [str(number) for number in range(130)]
    assert "130 messages acked" in answer.stderr
    assert rest(broker, queue) == [(str(number), False) for number in range(130, 250)]


def test_a_timeout_ends_an_empty_queue(mqkit: Any, broker: Any, queue: str) -> None:
    answer = mqkit("consume", queue, "--timeout", "0.5", "--url", broker.url)
    assert answer.returncode == 0
    assert len(shown(answer)) == 250
    answer = mqkit("consume", queue, "--timeout", "0.2", "--count", "3", "--url", broker.url)
    assert answer.returncode == 1
    assert "only 0 of 3 messages came" in answer.stderr


def test_requeue_puts_everything_back_in_its_place(mqkit: Any, broker: Any, queue: str) -> None:
    answer = mqkit("consume", queue, "--requeue", "--count", "3", "--json", "--url", broker.url)
    assert answer.returncode == 0, answer.stderr
    assert [json.loads(text)["body"] for text in answer.stdout.splitlines()] == ["0", "1", "2"]
    found = rest(broker, queue)
    assert found == [(str(number), number < 3) for number in range(250)]


def test_a_reader_that_goes_away_loses_nothing(
    broker: Any, queue: str, clean_environment: dict[str, str]
) -> None:
    """Like `mqkit consume q | head -1`: what was not printed was not acked."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mqkit_cli", "consume", queue, "--url", broker.url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline().endswith(b"\t0\n")
    process.stdout.close()
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        connection.channel().basic_publish("", queue, b"250")
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert b"Traceback" not in errors
    left = [int(body) for body, _ in rest(broker, queue)]
    # What fitted into the pipe was printed; the rest is there, and in order.
    assert left == list(range(left[0], 251))


def test_a_signal_is_the_usual_end(
    broker: Any, queue: str, clean_environment: dict[str, str]
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "mqkit_cli", "consume", queue, "--url", broker.url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(250)]
    assert lines[-1].endswith("\t249\n")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "250 messages acked" in errors
    assert rest(broker, queue) == []


def test_no_such_queue(mqkit: Any, broker: Any, unique: Unique) -> None:
    answer = mqkit("consume", unique("nothing"), "--url", broker.url)
    assert answer.returncode == 1
    assert "404 NOT_FOUND" in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_a_queue_that_is_deleted_ends_it(
    broker: Any, queue: str, clean_environment: dict[str, str]
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "mqkit_cli", "consume", queue, "--url", broker.url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment,
    )
    assert process.stdout is not None
    process.stdout.readline()
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        connection.channel().queue_delete(queue)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "the queue was deleted" in errors


def test_control_characters_do_not_reach_the_terminal(
    mqkit: Any, broker: Any, unique: Unique, tmp_path: Path
) -> None:
    name = unique("q")
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.queue_declare(name, durable=True)
        channel.basic_publish("", name, b"\x1b[31mred\n\xff")
        channel.basic_publish("", name, b"\xff")
    answer = mqkit("consume", name, "--count", "1", "--url", broker.url)
    assert shown(answer) == ["\\x1b[31mred\\n\\xff"]
    answer = mqkit("consume", name, "--count", "1", "--json", "--url", broker.url)
    assert json.loads(answer.stdout)["body_base64"] == "/w=="


def test_requeue_has_a_bound(mqkit: Any) -> None:
    answer = mqkit("consume", "q", "--requeue", "--count", "1001", "--url", "amqp://127.0.0.1:1/")
    assert answer.returncode == 1
    assert "at most 1000" in answer.stderr
