"""Names of queues out of the definitions."""

from __future__ import annotations

from reference_broker.core.exchange.definitions import QueueDefinition, encode_queue, queue_key
from reference_broker.store.doctor.queue_names import queue_names, salvaged_name, salvaged_queue


def test_vhost_and_name_by_id_and_nothing_else() -> None:
    definitions = {
        queue_key("/", "a/b"): encode_queue(QueueDefinition(3, "a/b", False, {})),
        queue_key("team x", "q"): encode_queue(QueueDefinition(4, "q", False, {"x": 1})),
        queue_key("/", "rotten"): b"\x07",
        "exchange/%2F/e": b"\x01",
    }
    assert queue_names(definitions) == {3: ("/", "a/b"), 4: ("team x", "q")}


def test_a_salvaged_queue_is_one_that_a_broker_reads() -> None:
    key, value = salvaged_queue(0x1_0000_0002)
    assert queue_names({key: value}) == {0x1_0000_0002: ("/", salvaged_name(0x1_0000_0002))}
