"""The size of chunks, for the time of a block."""

from __future__ import annotations

import pytest

from mqkit.wire import PERSISTENT, Properties
from mqkit.wire.methods import BasicGet, QueueDeclare
from reference_broker.simulation.disk.chunks import small_chunks
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store import open_log
from reference_broker.store.format import record
from reference_broker.store.format.record import CHUNK_BYTES, RecordType
from reference_broker.store.log import publish_run
from reference_broker.testing.lone_broker import LoneBroker
from reference_broker.testing.lone_log import pump

LOGGED = Properties(delivery_mode=PERSISTENT)


def test_it_is_what_it_was_after_the_block() -> None:
    before = publish_run.BODY_PIECE_BYTES
    with pytest.raises(ZeroDivisionError), small_chunks(90):
        assert (record.chunks_of(90), record.chunks_of(91), record.chunks_of(271)) == (0, 2, 4)
        raise ZeroDivisionError
    assert (CHUNK_BYTES, before) == (record.CHUNK_BYTES, publish_run.BODY_PIECE_BYTES)
    assert before <= CHUNK_BYTES
    with small_chunks(CHUNK_BYTES):
        assert before == publish_run.BODY_PIECE_BYTES


def test_a_body_stands_in_chunks_and_comes_whole() -> None:
    disk = SimulatedDisk()
    with small_chunks(90):
        log, _ = open_log(disk, segment_bytes=4_096)
        lone = LoneBroker(log)
        client = lone.client()
        client.send(1, QueueDeclare("q", durable=True))
        client.publish("q", bytes(range(200)), properties=LOGGED)
        while pump(log, disk) is not None:
            lone.broker.synced(log.synced, lone.now_s, lone.wall_ms)
        written = b"".join(disk.read(file) for file in disk.list_files())
        assert written.count(bytes([RecordType.CHUNK]) + bytes(range(90, 180))) == 1
        client.received()
        client.send(1, BasicGet("q", no_ack=True))
        assert client.received()[-1].body == bytes(range(200))
