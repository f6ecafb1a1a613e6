"""`mqkit dlq archive` and `restore` against both brokers: a way there and back, and bad places."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pika
import pytest

Unique = Callable[[str], str]
MESSAGES = 5


@pytest.fixture
def lot(broker: Any, unique: Unique) -> str:
    name = f"{unique('q')}.parked"
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.queue_declare(name, durable=True)
        channel.confirm_delivery()
        for number in range(MESSAGES):
            properties = pika.BasicProperties(message_id=f"m{number}")
            channel.basic_publish("", name, os.urandom(4000), properties)
    return name


def depth(broker: Any, queue: str) -> int:
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        state = connection.channel().queue_declare(queue, passive=True)
        return int(state.method.message_count)


@contextmanager
def files_of_at_most(octets: int) -> Iterator[None]:
    """As a disk that gets full: a write beyond is an error."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (octets, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_there_and_back(mqkit: Any, broker: Any, lot: str) -> None:
    answer = mqkit("dlq", "archive", lot, "--to", "there.jsonl.gz", "--url", broker.url)
    assert answer.stdout == f"archived {MESSAGES} messages of {lot} in there.jsonl.gz\n"
    assert depth(broker, lot) == 0
    for restored, skipped in ((MESSAGES, ""), (0, f"; {MESSAGES} were there already")):
        answer = mqkit("dlq", "restore", "there.jsonl.gz", "--url", broker.url)
        assert answer.stdout == f"restored {restored} of {MESSAGES} messages to {lot}{skipped}\n"
    assert depth(broker, lot) == MESSAGES


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("file/there.jsonl.gz", "file/there.jsonl.gz can't be written: file is no folder"),
        ("taken.jsonl.gz", "taken.jsonl.gz: the file is there already, and no archive is ever"),
        ("link.jsonl.gz", "link.jsonl.gz.part: file exists, and no archive is ever replaced"),
        ("x/{foo}.jsonl.gz", "'x/{foo}.jsonl.gz' is no place for archives: it may have {queue}"),
    ],
)
def test_a_bad_place_is_one_line_and_nothing_leaves_the_lot(
    mqkit: Any, broker: Any, lot: str, tmp_path: Path, to: str, said: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "taken.jsonl.gz").write_text("hello")
    (tmp_path / "link.jsonl.gz.part").symlink_to("victim")
    answer = mqkit("dlq", "archive", lot, "--to", to, "--url", broker.url)
    assert answer.returncode == 1
    assert answer.stderr.startswith(f"mqkit: {said}")
    assert answer.stderr.count("\n") == 1
    assert depth(broker, lot) == MESSAGES
    assert (tmp_path / "taken.jsonl.gz").read_text() == "hello"
    assert not (tmp_path / "victim").exists()


@pytest.mark.parametrize("name", ["there.jsonl.gz", "there.parquet"])
def test_a_disk_that_gets_full_is_one_line_and_loses_nothing(
    mqkit: Any, broker: Any, lot: str, tmp_path: Path, name: str
) -> None:
    with files_of_at_most(10_000):
        answer = mqkit("dlq", "archive", lot, "--to", name, "--url", broker.url)
    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1
    assert f"{name} can't be written: file too large" in answer.stderr
    assert depth(broker, lot) == MESSAGES
    assert not list(tmp_path.glob("there*"))
