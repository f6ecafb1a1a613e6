"""`mqkit outbox`, as a person runs it: refused, seen, repaired, published."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from mqkit import outbox


class Desk:
    """A database with an outbox, and the commands on it."""

    def __init__(self, folder: Path, mqkit: Any, broker: Any) -> None:
        self.url = f"sqlite:///{folder / 'shop.db'}"
        self._mqkit = mqkit
        self._broker = broker
        self.engine = create_engine(self.url)
        outbox.metadata.create_all(self.engine)

    def write(self, to: str, key: str) -> None:
        with Session(self.engine) as session, session.begin():
            outbox.publish(session, "", to, b"{}", ordering_key=key, message_id=f"{key}-{to}")

    def run(self, *words: str, code: int = 0) -> Any:
        variables = {"MQKIT_DATABASE_URL": self.url, "MQKIT_URL": self._broker.url}
        done = self._mqkit("outbox", *words, **variables)
        assert done.returncode == code, done.stderr
        return done


@pytest.fixture
def desk(tmp_path: Path, mqkit: Any, reference_broker: Any) -> Desk:
    return Desk(tmp_path, mqkit, reference_broker)


def test_a_refused_message_is_seen_and_published_once_its_queue_is_there(
    desk: Desk, mqkit: Any, unique: Callable[[str], str]
) -> None:
    queue = unique("orders")
    desk.write(queue, "ann")
    desk.write(queue, "ann")
    told = desk.run("run", "--once", code=1)
    assert "0 messages published" in told.stdout
    assert "1 row stopped" in told.stderr
    listed = desk.run("ls").stdout
    assert f"ann-{queue[:20]}" in listed
    assert "unroutable: 312 NO_ROUTE" in listed
    assert "held: 1 row, the oldest 0s old" in listed or "held: 1 row" in listed
    shown = json.loads(desk.run("ls", "--json", "--state", "held").stdout)
    assert [row["ordering_key"] for row in shown["rows"]] == ["ann"]
    assert desk.run("retry", "--key", "ann").stdout == "1 row will be published again\n"
    declare(desk, queue, mqkit)
    assert desk.run("run", "--once").stdout == "2 messages published\n"
    assert desk.run("ls").stdout == "the outbox is empty\n"


def declare(desk: Desk, queue: str, mqkit: Any) -> None:
    Path("topology.yaml").write_text(f"queues: {{{queue}: {{}}}}\n")
    broker = desk._broker
    variables = {"MQKIT_URL": broker.url, "MQKIT_MANAGEMENT_URL": broker.management_url}
    assert mqkit("topology", "apply", **variables).returncode == 0


def test_purge_asks_and_deletes(desk: Desk, unique: Callable[[str], str]) -> None:
    desk.write(unique("nowhere"), "ann")
    desk.run("run", "--once", code=1)
    assert "nobody answered" in desk.run("purge", "--all", code=1).stderr
    assert "say which rows" in desk.run("purge", code=1).stderr
    assert "goes alone" in desk.run("purge", "--all", "--sent", "7d", code=1).stderr
    assert json.loads(desk.run("purge", "--all", "--yes", "--json").stdout) == {"purged": 1}
    assert desk.run("purge", "--sent", "7d").stdout == "purged 0 rows\n"


def test_what_can_not_be_used_is_one_line(mqkit: Any, tmp_path: Path) -> None:
    assert "give --database URL" in mqkit("outbox", "ls").stderr
    for url, told in (
        ("postgresql+psycopg://ann:secret@127.0.0.1:1/shop", "the database: "),
        (f"sqlite:///{tmp_path / 'empty.db'}", "no such table"),
        ("nonsense", "can't be used"),
    ):
        done = mqkit("outbox", "ls", "--database", url)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
        assert told in done.stderr
        assert "secret" not in done.stderr


def test_it_publishes_until_it_is_told_to_end(
    desk: Desk, mqkit: Any, unique: Callable[[str], str], clean_environment: dict[str, str]
) -> None:
    queue = unique("orders")
    declare(desk, queue, mqkit)
    process = subprocess.Popen(
        [sys.executable, "-m", "mqkit_cli", "outbox", "run", "--after", "keep", "--poll", "0.05"],
        env={**clean_environment, "MQKIT_DATABASE_URL": desk.url, "MQKIT_URL": desk._broker.url},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        desk.write(queue, "ann")
        while not desk.run("ls").stdout.startswith("sent: 1 row"):
            assert process.poll() is None
    finally:
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=30)
    assert (process.returncode, said) == (0, "1 message published\n")
