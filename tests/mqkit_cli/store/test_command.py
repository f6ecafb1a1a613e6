"""`mqkit broker store`: folders of a real broker, and folders that are none."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pika
import pytest

from mqkit_cli.store.data_dir import is_in_use
from mqkit_cli.store.stored_json import record_json
from reference_broker.core.exchange.definitions import QueueDefinition, encode_queue, queue_key
from reference_broker.core.index.index import QueueIndex
from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import Content
from reference_broker.runtime.disk.data_folder import DataFolder
from reference_broker.store import open_log
from reference_broker.store.doctor.inspection import SeenRecord
from reference_broker.store.format.record import RecordType, encode_publish_head

QUEUE = 5
FREE = ("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
BODIES = (b"first", b"\xff\xfe", b"third")
ODD_HEADER = b"\x00\x3c\x00\x00" + bytes(8) + b"\x20\x00" + b"\xff\xff\xff\xff"
"""A content header whose field table is longer than it."""


class Source:
    """The one queue, as the log asks for it."""

    def __init__(self) -> None:
        self.index = QueueIndex(1)

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[Any]:
        return self.index.live_columns(queue_id, start, end)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One closed segment with three messages of the queue `q`."""
    directory = tmp_path / "data"
    disk = DataFolder(directory)
    log, _ = open_log(disk, segment_bytes=4096)
    source = Source()
    log.attach(source)
    definition = encode_queue(QueueDefinition(QUEUE, "q", auto_delete=False, arguments={}))
    log.define(queue_key("/", "q"), definition)
    for sequence, body in enumerate(BODIES, start=1):
        header = b"\x00\x3c\x00\x00" + len(body).to_bytes(8, "big") + b"\x10\x00\x02"
        content = Content(b"\x01x\x01k", header, body)
        log.publish([Entry(QUEUE, sequence)], content)
        source.index.append(content.position, len(body), content.stored)
    log.close()
    while (batch := log.take_batch()) is not None:
        for operation in batch.operations:
            disk.perform(operation)
        log.batch_synced(batch)
    disk.close()
    return directory


def segment_of(folder: Path) -> Path:
    (segment,) = folder.glob("*.segment")
    return segment


def damage(folder: Path, body: bytes = b"first") -> Path:
    segment = segment_of(folder)
    data = bytearray(segment.read_bytes())
    data[data.index(body)] ^= 1
    segment.write_bytes(data)
    return segment


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_sound_folder_checks_out(mqkit: Any, folder: Path) -> None:
    before = contents(folder)
    answer = mqkit("broker", "store", "check", str(folder))
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.endswith("sound: 1 segment, 3 messages\n")
    assert re.search(r"^/ +q +3 +12 +0$", answer.stdout, re.MULTILINE)
    assert answer.stderr == ""
    assert contents(folder) == before


def test_check_in_json(mqkit: Any, folder: Path) -> None:
    found = json.loads(mqkit("broker", "store", "check", str(folder), "--json").stdout)
    assert found["sound"]
    assert not found["in_use"]
    assert found["queues"] == [
        {
            "vhost": "/",
            "name": "q",
            "queue_id": QUEUE,
            "messages": 3,
            "body_bytes": 12,
            "lost_at_most": 0,
        }
    ]
    (segment,) = found["segments"]
    assert segment["state"] == "closed"
    assert segment["records"]["PUBLISH"] == 3
    assert segment["live_messages"] == 3


def test_damage_is_found_repaired_and_gone(mqkit: Any, folder: Path) -> None:
    segment = damage(folder)
    answer = mqkit("broker", "store", "check", str(folder))
    assert answer.returncode == 2
    assert f"{segment.name}: no record can be read" in answer.stdout
    assert "at most 1 message lost" in answer.stdout
    before = contents(folder)

    planned = mqkit("broker", "store", "repair", str(folder), "--dry-run")
    assert planned.returncode == 0
    assert "would be repaired: 2 messages kept" in planned.stdout
    assert contents(folder) == before

    done = mqkit("broker", "store", "repair", str(folder))
    assert done.returncode == 0, done.stderr
    assert "\nrepaired: 2 messages kept" in done.stdout
    assert (folder / f"{segment.name}.quarantine").read_bytes() == before[segment.name]
    assert mqkit("broker", "store", "check", str(folder)).returncode == 0

    again = mqkit("broker", "store", "repair", str(folder), "--json")
    assert json.loads(again.stdout)["needed"] is False


def test_dump_has_the_names_of_the_management_api(mqkit: Any, folder: Path) -> None:
    answer = mqkit("broker", "store", "dump", str(folder))
    assert answer.returncode == 0, answer.stderr
    first, second, third = map(json.loads, answer.stdout.splitlines())
    place = (first.pop("position"), first.pop("file"), first.pop("offset"))
    assert place[1] == segment_of(folder).name
    assert place[0] == place[2]
    assert first == {
        "vhost": "/",
        "queue": "q",
        "queue_id": QUEUE,
        "sequence": 1,
        "redelivered": False,
        "exchange": "x",
        "routing_key": "k",
        "properties": {"delivery_mode": 2},
        "payload_bytes": 5,
        "payload": "first",
        "payload_encoding": "string",
    }
    assert (second["payload"], second["payload_encoding"]) == ("//4=", "base64")
    assert third["payload"] == "third"


def test_dump_leaves_out_what_cannot_be_read_and_says_so(mqkit: Any, folder: Path) -> None:
    damage(folder)
    answer = mqkit("broker", "store", "dump", str(folder), "--queue", "q", "--no-bodies")
    assert answer.returncode == 0
    found = [json.loads(line) for line in answer.stdout.splitlines()]
    assert [each["sequence"] for each in found] == [2, 3]
    assert "payload" not in found[0]
    assert answer.stderr == "mqkit: 1 message can't be read and are left out\n"


def test_dump_of_records(mqkit: Any, folder: Path) -> None:
    damage(folder)
    answer = mqkit("broker", "store", "dump", str(folder), "--records")
    found = [json.loads(line) for line in answer.stdout.splitlines()]
    kinds = [each["type"] for each in found]
    assert kinds[0] == "SYNCED"
    assert kinds[-1] == "FOOTER"
    assert kinds.count(None) == 1
    assert kinds.count("PUBLISH") == 2
    (define,) = [each for each in found if each["type"] == "DEFINE"]
    assert define["key"] == "queue/%2F/q"
    published = next(each for each in found if each["type"] == "PUBLISH")
    assert published["entries"][0]["queue_id"] == QUEUE
    limited = mqkit("broker", "store", "dump", str(folder), "--records", "--limit", "2")
    assert limited.stdout.splitlines() == answer.stdout.splitlines()[:2]


def test_a_header_that_cannot_be_decoded_does_not_withhold_its_record() -> None:
    content = Content(b"\x01x\x01k", ODD_HEADER, b"body")
    payload = encode_publish_head([Entry(QUEUE, 1)], 1, content) + content.body
    view = memoryview(payload)
    seen = SeenRecord("f", 64, 64, len(view) + 8, view, RecordType.PUBLISH, copied=False)
    row = record_json(seen, bodies=True)
    assert row["properties"] is None
    assert base64.b64decode(row["header_base64"]) == ODD_HEADER
    assert row["payload"] == "body"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: None, "there is no such folder"),
        (lambda path: path.write_text(""), "is not a folder"),
        (lambda path: path.mkdir(), "is not a broker's data folder"),
    ],
    ids=["missing", "file", "empty"],
)
@pytest.mark.parametrize("command", [["check"], ["dump"], ["repair"], ["repair", "--dry-run"]])
def test_what_is_no_data_folder(
    mqkit: Any, tmp_path: Path, make: Callable[[Path], object], says: str, command: list[str]
) -> None:
    path = tmp_path / "place"
    make(path)
    answer = mqkit("broker", "store", *command, str(path))
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert says in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not path.is_dir() or not list(path.iterdir())


def test_a_folder_of_an_older_release(mqkit: Any, tmp_path: Path) -> None:
    (tmp_path / "0000000000000000-00000001.segment").write_bytes(b"")
    for command in ("check", "dump", "repair"):
        answer = mqkit("broker", "store", command, str(tmp_path))
        assert answer.returncode == 1
        assert "format version 1" in answer.stderr
        assert answer.stderr.count("\n") == 1


def test_options_that_exclude_each_other_and_unknown_queues(mqkit: Any, folder: Path) -> None:
    for arguments, says in (
        (["--queue", "q", "--records"], "leave one out"),
        (["--queue", "nope"], "no durable queue nope is in the folder (there are: q)"),
    ):
        answer = mqkit("broker", "store", "dump", str(folder), *arguments)
        assert answer.returncode == 1
        assert says in answer.stderr


def test_a_folder_in_use_is_checked_with_a_remark_and_not_repaired(
    mqkit: Any, folder: Path
) -> None:
    disk = DataFolder(folder)
    try:
        answer = mqkit("broker", "store", "check", str(folder))
        assert answer.returncode == 0
        assert "the figures may be moving" in answer.stderr
        for options in ([], ["--dry-run"]):
            answer = mqkit("broker", "store", "repair", str(folder), *options)
            assert answer.returncode == 1
            assert "is in use by a broker: stop it first" in answer.stderr
        assert is_in_use(folder)
    finally:
        disk.close()
    assert not is_in_use(folder)


@pytest.mark.slow
def test_messages_of_a_broken_disk_come_back_and_can_be_sent_again(
    mqkit: Any, tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    """A real broker is killed, its newest segment is damaged below the last sync and repaired; the
    broker starts on it, and takes what was dumped as it is."""
    directory = tmp_path / "data"
    with broker_on(directory, clean_environment) as (amqp, _), connected(amqp) as connection:
        channel = connection.channel()
        channel.queue_declare("q", durable=True)
        channel.confirm_delivery()
        properties = pika.BasicProperties(delivery_mode=2, headers={"hop": 1})
        for number in range(20):
            channel.basic_publish("", "q", b"message %d." % number, properties)
    damage(directory, b"message 7.")

    assert mqkit("broker", "store", "check", str(directory)).returncode == 2
    lines = mqkit("broker", "store", "dump", str(directory), "--queue", "q").stdout.splitlines()
    assert len(lines) == 19
    assert mqkit("broker", "store", "repair", str(directory)).returncode == 0
    assert mqkit("broker", "store", "check", str(directory)).returncode == 0

    with broker_on(directory, clean_environment) as (amqp, http), connected(amqp) as connection:
        url = f"http://127.0.0.1:{http}/api/exchanges/%2F/amq.default/publish"
        with httpx.Client(auth=("guest", "guest"), trust_env=False) as client:
            for line in lines[:2]:
                assert client.post(url, content=line).json() == {"routed": True}
        channel = connection.channel()
        got = [channel.basic_get("q", auto_ack=True) for _ in range(22)]
        bodies = [body for _, _, body in got if body is not None]
        expected = [b"message %d." % number for number in range(20) if number != 7]
        assert bodies == expected + expected[:2]
        assert got[20][1].headers == {"hop": 1}


@contextmanager
def broker_on(directory: Path, environment: dict[str, str]) -> Iterator[tuple[int, int]]:
    """A broker process with this data folder, and its ports; killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mqkit_cli", "broker", "run", *FREE, "--data-dir", str(directory)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert process.stdout is not None
        ready = re.fullmatch(r"ready amqp=.*:(\d+) http=.*:(\d+)\n", process.stdout.readline())
        assert ready is not None
        yield int(ready[1]), int(ready[2])
    finally:
        process.kill()
        process.communicate()


def connected(port: int) -> pika.BlockingConnection:
    return pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port, heartbeat=0))
