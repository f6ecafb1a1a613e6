"""The blocking adapters: outcomes of runs, without a future for each message."""

from __future__ import annotations

import queue
import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from mqkit.declaration import Queue
from mqkit.message import Message, Properties
from mqkit.outcome import Outcome
from mqkit.transport.blocking import BlockingTransport
from mqkit.transport.native.over_sockets.transport import NativeBlockingTransport
from mqkit.transport.over_pika.adapter import PikaTransport
from mqkit.url import parse

TIMEOUT_S = 20.0


@pytest.mark.parametrize("make", [PikaTransport, NativeBlockingTransport], ids=["pika", "native"])
def test_outcomes_of_a_run_come_by_position(make: type[BlockingTransport], broker: Any) -> None:
    connection = make().connect(parse(broker.url), name="test_runs", timeout_s=TIMEOUT_S)
    channel = connection.channel(confirms=True)
    name = f"test-runs-{uuid.uuid4()}"
    channel.declare_queue(Queue(name, exclusive=True))
    keys = [name if n % 7 else "no-such-queue-of-ours" for n in range(1000)]
    messages = [Message("", key, b"x", Properties(message_id=str(n))) for n, key in enumerate(keys)]
    told: queue.Queue[tuple[int, Sequence[Outcome]]] = queue.Queue()
    channel.publish_run(messages, lambda *settled: told.put(settled))
    found: dict[int, Outcome] = {}
    while len(found) < 1000:
        position, outcomes = told.get(timeout=TIMEOUT_S)
        assert not found.keys() & range(position, position + len(outcomes))
        found.update(enumerate(outcomes, start=position))
    connection.close()
    for n, key in enumerate(keys):
        assert found[n].message_id == str(n)
        assert bool(found[n]) is (key == name)
