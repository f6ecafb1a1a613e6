"""A partition, read from the queue into its file and from there, on both brokers."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pika
import pytest

from mqkit.errors import ChannelError, ConfigurationError
from mqkit_spark.options import StreamReadOptions
from mqkit_spark.source.stream.intake import acknowledge
from mqkit_spark.source.stream.offset import START, Offset
from mqkit_spark.source.stream.spool.batch_folder import BatchFolder
from mqkit_spark.source.stream.spool.counts import Counts
from mqkit_spark.source.stream.spool.faults import DataLoss, SpoolError
from mqkit_spark.source.stream.spool.folder import SpoolFolder
from mqkit_spark.source.stream.spool.reader import SpoolReader

READS_WITHIN_S = 60


class Spooled:
    """A queue, and its spool folder."""

    def __init__(self, url: str, target: Any, folder: SpoolFolder, root: Path) -> None:
        self.target = target
        self.folder = folder
        self.options = StreamReadOptions(url=url, queue=target.name, spool_location=str(root))
        self.number = 0

    def publish(self, *messages: tuple[str | None, str]) -> None:
        for message_id, body in messages:
            properties = pika.BasicProperties(message_id=message_id)
            self.target.channel.basic_publish("", self.target.name, body, properties)
        # Its answer comes after all that was sent before.
        self.target.count()

    def begin(self, messages: int, partitions: int = 1) -> Offset:
        self.number += 1
        offset = START.next(self.number, messages, partitions)
        self.folder.begin(offset)
        return offset

    def reader(self, offset: Offset, partition: int = 0, **more: Any) -> SpoolReader:
        return SpoolReader(self.options, self.folder.batch(offset), partition, **more)

    def read(self, offset: Offset, partition: int = 0, **more: Any) -> list[str]:
        return bodies(self.reader(offset, partition, **more))

    def counts(self, offset: Offset, partition: int = 0) -> Counts | None:
        return self.folder.batch(offset).counts(partition)


def bodies(reader: SpoolReader) -> list[str]:
    return [body.decode() for batch in reader.rows() for body in batch.column("body").to_pylist()]


def numbered(begin: int, end: int) -> list[tuple[str | None, str]]:
    return [(f"m{number}", f"{number}") for number in range(begin, end)]


def texts(begin: int, end: int) -> list[str]:
    return [f"{number}" for number in range(begin, end)]


@pytest.fixture
def make_spooled(broker_url: str, tmp_path: Path) -> Callable[..., Spooled]:
    def make(target: Any) -> Spooled:
        folder = SpoolFolder.owned(tmp_path / "spool", target.name, 1000, within_s=0)
        return Spooled(broker_url, target, folder, tmp_path / "spool")

    return make


@pytest.fixture
def spooled(make_spooled: Any, target: Any) -> Any:
    made = make_spooled(target)
    yield made
    made.folder.release()


def test_a_share_is_taken_acked_and_the_same_ever_after(spooled: Spooled) -> None:
    spooled.publish(*numbered(0, 300))
    offset = spooled.begin(200)
    assert spooled.read(offset) == texts(0, 200)
    assert spooled.target.count() == 100
    spooled.target.channel.queue_purge(spooled.target.name)
    assert spooled.read(offset) == texts(0, 200)
    assert spooled.counts(offset) == Counts(rows=200, body_bytes=490)


def test_a_queue_with_less_than_the_share_gives_what_it_has(spooled: Spooled) -> None:
    spooled.publish(*numbered(0, 3))
    offset = spooled.begin(10, partitions=2)
    assert spooled.read(offset) == texts(0, 3)
    assert spooled.read(offset, 1) == []
    assert spooled.folder.batch(offset).files().keys() == {0, 1}
    assert spooled.target.count() == 0


def test_what_comes_again_is_known_by_id_and_body(spooled: Spooled) -> None:
    spooled.publish(("a", "1"), ("b", "2"), (None, "3"))
    first = spooled.begin(3)
    assert spooled.read(first) == ["1", "2", "3"]
    spooled.publish(("a", "1"), ("a", "other"), ("a", "1"), (None, "3"), ("b", "2"))
    second = spooled.begin(5)
    assert spooled.read(second) == ["other", "3"]
    counts = Counts(rows=2, dropped=3, without_id=1, body_bytes=6)
    assert spooled.counts(second) == counts
    assert spooled.target.count() == 0
    for offset in (first, second):
        spooled.folder.settle(offset)
    spooled.publish(("b", "2"), ("c", "5"))
    assert spooled.read(spooled.begin(2)) == ["5"]


def test_two_attempts_at_once_give_the_same_rows_and_lose_none(spooled: Spooled) -> None:
    spooled.publish(*numbered(0, 400))
    offset = spooled.begin(200)
    # The share of each is there, so that both have consumed all when one links.
    begin, got = threading.Barrier(2), list[list[str]]()

    def attempt() -> None:
        reader = spooled.reader(offset)
        begin.wait()
        got.append(bodies(reader))

    threads = [threading.Thread(target=attempt) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(READS_WITHIN_S)
    assert got[0] == got[1]
    assert len(got[0]) == 200
    rest = spooled.read(spooled.begin(200))
    assert sorted(map(int, got[0] + rest)) == list(range(400))
    assert list(spooled.folder.batch(offset).path.glob(".attempt*")) == []


def dies_before_the_ack(reader: SpoolReader) -> None:
    reader.acknowledge = lambda channel, tag: os.kill(os.getpid(), signal.SIGKILL)
    list(reader.rows())


def test_a_reader_killed_between_link_and_ack_has_given_its_rows(spooled: Spooled) -> None:
    spooled.publish(*numbered(0, 50))
    offset = spooled.begin(50)
    process = multiprocessing.get_context("fork").Process(
        target=dies_before_the_ack, args=[spooled.reader(offset)]
    )
    process.start()
    process.join(READS_WITHIN_S)
    assert process.exitcode == -signal.SIGKILL
    # The next attempt reads the file; the messages come again, and are known.
    assert spooled.read(offset) == texts(0, 50)
    again = spooled.begin(60)
    spooled.publish(*numbered(50, 60))
    assert spooled.read(again) == texts(50, 60)
    counts = spooled.counts(again)
    assert counts is not None
    assert (counts.rows, counts.dropped) == (10, 50)
    assert spooled.target.count() == 0


def test_a_connection_lost_before_the_ack_gives_the_rows_all_the_same(spooled: Spooled) -> None:
    def lose(channel: Any, tag: int) -> None:
        with pytest.raises(ChannelError):
            channel.purge("no such queue")
        acknowledge(channel, tag)

    spooled.publish(*numbered(0, 50))
    offset = spooled.begin(50)
    assert spooled.read(offset, acknowledge=lose) == texts(0, 50)
    counts = spooled.counts(offset)
    assert counts is not None
    assert counts.lost_connections == 1
    assert spooled.read(spooled.begin(50)) == []


def test_a_batch_that_is_over_takes_nothing_under_its_name(spooled: Spooled) -> None:
    spooled.publish(*numbered(0, 20))
    offset = spooled.begin(10)
    spooled.read(offset)
    spooled.folder.settle(offset)
    with pytest.raises(SpoolError, match="is not there: batch 1 is over"):
        spooled.read(offset)
    assert spooled.target.count() == 10


def test_a_folder_that_the_driver_does_not_share_is_said_and_nothing_is_taken(
    spooled: Spooled, tmp_path: Path
) -> None:
    """A worker of another machine has a folder of its own at that path, or none."""
    spooled.publish(*numbered(0, 3))
    offset = spooled.begin(3)
    for own in (tmp_path / "none", tmp_path / "own"):
        if own.name == "own":
            (own / "batches").mkdir(parents=True)
        reader = SpoolReader(spooled.options, BatchFolder(own / "batches", offset), 0)
        with pytest.raises(SpoolError, match="or driver and executors do not share spoolLocation"):
            bodies(reader)
        assert spooled.target.count() == 3
    assert spooled.read(offset) == texts(0, 3)


def test_a_batch_that_ends_while_it_is_read_keeps_nothing_from_the_queue(
    spooled: Spooled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader of a dead driver, which is slow."""
    spooled.publish(*numbered(0, 20))
    offset = spooled.begin(10)
    written = SpoolReader._write

    def late(reader: SpoolReader, *arguments: Any) -> Any:
        result = written(reader, *arguments)
        spooled.folder.settle(offset)
        return result

    monkeypatch.setattr(SpoolReader, "_write", late)
    with pytest.raises(SpoolError):
        spooled.read(offset)
    monkeypatch.undo()
    assert sorted(spooled.read(spooled.begin(20)), key=int) == texts(0, 20)


def test_a_data_file_that_was_removed_is_said_and_not_replaced(spooled: Spooled) -> None:
    spooled.publish(*numbered(0, 20))
    offset = spooled.begin(10)
    spooled.read(offset)
    spooled.folder.batch(offset).data(0).unlink()
    with pytest.raises(DataLoss, match="can't be given again"):
        spooled.read(offset)
    assert spooled.target.count() == 10


def test_a_queue_that_is_not_there_is_said(spooled: Spooled) -> None:
    offset = spooled.begin(10)
    spooled.target.channel.queue_delete(spooled.target.name)
    with pytest.raises(ConfigurationError, match=spooled.target.name):
        spooled.read(offset)


def test_a_queue_that_is_another_connections_alone_is_said(
    make_spooled: Callable[..., Spooled], broker_url: str, make_queue: Callable[..., Any]
) -> None:
    with pika.BlockingConnection(pika.URLParameters(broker_url)) as other:
        exclusive = make_queue()
        exclusive.channel.queue_delete(exclusive.name)
        other.channel().queue_declare(exclusive.name, exclusive=True)
        spooled = make_spooled(exclusive)
        with pytest.raises(ConfigurationError, match=rf"queue '{exclusive.name}': 405 RESOURCE_LO"):
            spooled.read(spooled.begin(10))


def test_a_disk_that_is_full_is_said_and_the_messages_go_back(spooled: Spooled) -> None:
    spooled.publish(*[(f"m{number}", f"{number}" * 2_000) for number in range(20)])
    offset = spooled.begin(20)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_192, limits[1]))  # the kernel refuses more octets
    try:
        with pytest.raises(SpoolError, match=r"^spool folder .*: file too large$"):
            spooled.read(offset)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(spooled.folder.batch(offset).path.glob("*.arrow")) == []
    assert len(spooled.read(offset)) == 20
