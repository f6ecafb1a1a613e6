"""A consumer that the broker ends while its channel waits, and that its client cancels by then."""

from __future__ import annotations

import pytest

from mqkit.wire.methods import (
    BasicCancel,
    BasicCancelOk,
    BasicConsume,
    BasicConsumeOk,
    Method,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
)
from reference_broker.testing.lone_broker import LoneBroker
from reference_broker.testing.recording_journal import RecordingJournal

OK: list[Method] = [QueueDeclareOk("d", 0, 0)]
NOTICE = BasicCancel("tag", nowait=True)


@pytest.mark.parametrize(
    ("sent", "answers"),
    [
        ([], [*OK, NOTICE]),
        ([BasicCancel("tag")], [*OK, BasicCancelOk("tag")]),
        (
            [BasicCancel("tag"), BasicConsume("e", "tag")],
            [*OK, BasicCancelOk("tag"), BasicConsumeOk("tag")],
        ),
    ],
)
def test_its_tag_is_its_clients_again(sent: list[Method], answers: list[Method]) -> None:
    lone = LoneBroker(RecordingJournal())
    client, other = lone.client(), lone.client()
    client.send(1, QueueDeclare("q", durable=True), QueueDeclare("e"))
    lone.sync()
    client.send(1, BasicConsume("q", "tag"))
    client.methods()
    client.send(1, QueueDeclare("d", durable=True))
    declared = lone.broker.journal.tail
    other.send(1, QueueDelete("q"))
    client.send(1, *sent)
    assert client.methods() == []
    lone.broker.synced(declared, lone.now_s, lone.wall_ms)
    lone.sync()
    assert client.methods() == answers
