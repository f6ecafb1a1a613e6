"""catalogue: a queue is here, or deleted, or not here yet."""

from __future__ import annotations

import pytest

from mqkit.wire.methods import QueueDeclare, QueueDelete
from reference_broker.cluster.queues.catalogue import Catalogue, vhost_of
from reference_broker.core.journal.watermark import Watermark
from reference_broker.core.work.until import NotYet
from reference_broker.testing.lone_broker import LoneBroker


def test_a_queue_is_found_by_its_id_until_it_is_deleted() -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(1, QueueDeclare("q"))
    queue = lone.broker.vhosts["/"].queues["q"]
    catalogue = Catalogue(lone.broker.queues_by_id, Watermark(5))
    assert catalogue.find(queue.id, 5) is queue
    assert vhost_of(queue) is lone.broker.vhosts["/"]
    client.send(1, QueueDelete("q"))
    assert catalogue.find(queue.id, 5) is None


def test_what_a_peer_may_know_of_already_is_waited_for() -> None:
    revision = Watermark(5)
    catalogue = Catalogue(LoneBroker().broker.queues_by_id, revision)
    told: list[int] = []
    with pytest.raises(NotYet) as wait:
        catalogue.find(1, 7)
    wait.value.until.then(lambda: told.append(revision.value))
    revision.rise(6)
    assert told == []
    revision.rise(7)
    assert told == [7]
    assert catalogue.find(1, 7) is None


def test_inner_queues_are_nobodys() -> None:
    lone = LoneBroker()
    lone.client().send(1, QueueDeclare("q", arguments={"x-message-id-window": 5}))
    window = lone.broker.vhosts["/"].queues["q"].deduplication
    assert window is not None
    assert window.queue.id in lone.broker.queues_by_id
    assert Catalogue(lone.broker.queues_by_id, Watermark()).find(window.queue.id, 0) is None
