"""``mqkit demo`` as a person runs it: its lines, its exit code, and what it leaves behind."""

from __future__ import annotations

import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pika
import pytest

TIMEOUT_S = 30

StartDemo = Callable[..., Any]
OwnData = tuple[Path, Path]


def options(own_data: OwnData) -> list[str]:
    records, topology = own_data
    return ["--input", str(records), "--topology", str(topology), "--no-spark"]


def port_of(line: str) -> int:
    found = re.search(r"@127\.0\.0\.1:(\d+)/", line)
    assert found is not None
    return int(found[1])


@pytest.mark.slow
def test_your_own_data_arrives_and_nothing_is_left_behind(
    start_demo: StartDemo, own_data: OwnData
) -> None:
    demo = start_demo(*options(own_data), "--routing-key", "us.{end}")
    port = port_of(demo.read_until(" broker "))
    code, err = demo.finish()
    assert (code, err) == (0, ""), demo.lines
    ledger = [line.strip() for line in demo.lines[demo.lines.index("ledger") + 1 :]]
    counts = dict(line.rsplit(" ", 1) for line in ledger)
    assert (counts["published"], counts["confirmed"], counts["processed"]) == ("240",) * 3
    # Numbers 0, 50, 100, 150, 200 for a while, and 1, 101, 201 until the bug is fixed.
    assert (counts["retried"], counts["parked"], counts["replayed"]) == ("8", "3", "3")
    assert list(counts)[-2:] == ["duplicates seen", "lost"]
    assert ledger[-1] == "lost 0"
    assert any("kill -9" in line for line in demo.lines)
    assert demo.left_over == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


@pytest.mark.slow
def test_a_message_that_is_stolen_is_found_missing(
    start_demo: StartDemo, own_data: OwnData
) -> None:
    """The thief takes it from a parking lot, of which nobody but the broker has a copy."""
    own_data[1].write_text(own_data[1].read_text().replace("100ms", "2s"))
    demo = start_demo(*options(own_data), "--patience", "4")
    port = port_of(demo.read_until(" broker "))
    demo.read_until(" published ")
    # Published after the kill, so there is no second copy of it; and it fails for ever.
    stolen = "record-000201"
    wait_and_steal(port, "ontime.parked", stolen)
    code, err = demo.finish()
    assert code == 1, demo.lines
    assert demo.lines[-1].strip() == "lost 1"
    assert f"lost: {stolen} (ontime)" in err
    (kept,) = demo.left_over
    assert f"are kept in {kept}" in err
    confirmed = (kept / "journal" / "confirmed.jsonl").read_text()
    processed = (kept / "journal" / "processed.jsonl").read_text()
    assert stolen in confirmed
    assert stolen not in processed
    assert (kept / "data").is_dir()


def wait_and_steal(port: int, queue: str, identity: str) -> None:
    """Take that message as soon as it is in ``queue``, ack it, and put everything else back."""
    url = f"amqp://guest:guest@127.0.0.1:{port}/"
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        for method, properties, _ in channel.consume(queue, inactivity_timeout=TIMEOUT_S):
            assert method is not None, f"{identity} never came into {queue}"
            if properties.message_id == identity:
                channel.basic_ack(method.delivery_tag)
                break
        channel.cancel()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing_behind(
    start_demo: StartDemo, own_data: OwnData, number: signal.Signals
) -> None:
    demo = start_demo(*options(own_data))
    port = port_of(demo.read_until(" broker "))
    demo.read_until(" publish ")
    demo.process.send_signal(number)
    code, err = demo.finish()
    assert (code, err) == (1, "mqkit: interrupted\n"), demo.lines
    assert demo.left_over == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


@pytest.mark.slow
def test_one_record_is_enough(start_demo: StartDemo, own_data: OwnData) -> None:
    own_data[0].write_text('{"end": "late"}\n')
    demo = start_demo(*options(own_data))
    assert demo.finish()[0] == 0, demo.lines
    assert demo.lines[-1].strip() == "lost 0"


@pytest.mark.parametrize(
    ("records", "topology", "words"),
    [
        (None, None, r"mine\.jsonl: can't be read: No such file"),
        ('{"a": 1}\n{"a" 1}\n', None, r"mine\.jsonl:2: not JSON: Expecting ':' delimiter"),
        ("1\n", "queues: {a: {bound: []}}", r"mine\.yaml:1: queues\.a: unknown key 'bound'"),
        ("1\n", "exchanges: {a: {type: headers}}\nqueues: {b: {}}", "nothing that exchange 'a'"),
    ],
)
def test_bad_input_is_one_line_before_anything_starts(
    start_demo: StartDemo,
    own_data: OwnData,
    records: str | None,
    topology: str | None,
    words: str,
) -> None:
    if records is None:
        own_data[0].unlink()
    else:
        own_data[0].write_text(records)
    if topology is not None:
        own_data[1].write_text(topology)
    demo = start_demo(*options(own_data))
    code, err = demo.finish()
    assert (code, demo.lines, demo.left_over) == (1, [], [])
    assert err.count("\n") == 1
    assert err.startswith("mqkit: ")
    assert re.search(words, err), err


@pytest.mark.slow
@pytest.mark.spark
def test_the_spark_job_is_skipped_in_one_line_where_there_is_no_java(
    start_demo: StartDemo, own_data: OwnData, tmp_path: Path
) -> None:
    demo = start_demo(*options(own_data)[:-1], env={"JAVA_HOME": str(tmp_path)})
    assert demo.finish()[0] == 0, demo.lines
    (line,) = [line for line in demo.lines if " spark " in line]
    assert "skipped: there is no Java on this machine (Spark needs 17 or later)" in line


@pytest.mark.slow
@pytest.mark.spark
def test_the_spark_job_sinks_the_same_records(start_demo: StartDemo, own_data: OwnData) -> None:
    demo = start_demo(*options(own_data)[:-1])
    code, err = demo.finish()
    if any("skipped:" in line for line in demo.lines):
        pytest.skip(next(line for line in demo.lines if "skipped:" in line))
    assert (code, err) == (0, ""), demo.lines
    ledger = [line.strip() for line in demo.lines]
    assert "sunk by Spark 240" in ledger
    assert "read back 240" in ledger
    assert ledger[-1] == "lost 0"
