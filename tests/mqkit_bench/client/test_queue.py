"""mqkit_bench.client.queue: filled before, counted after."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pika
import pytest

from mqkit_bench.client import queue as queue_module
from mqkit_bench.client.queue import ClientQueue
from mqkit_bench.client.scenario import Load, Scenario
from mqkit_bench.contestant import Contestant
from mqkit_bench.report import Discrepancy
from mqkit_bench.session import Session


def test_a_consumer_finds_all_messages_and_a_publisher_none(
    contestant: Contestant, unique: Callable[[str], str]
) -> None:
    load, queue = Load(unique("q"), 300, 100), ClientQueue(contestant.address)
    for scenario, messages in ((Scenario.CONSUME_ACK, 300), (Scenario.PUBLISH_1, 0)):
        queue.prepare(load, scenario)
        with closing(Session(contestant.address)) as control:
            assert control.ready(load.queue) == messages


def test_its_messages_are_persistent_and_say_what_they_are(
    contestant: Contestant, unique: Callable[[str], str]
) -> None:
    load = Load(unique("q"), 1, 100)
    ClientQueue(contestant.address).prepare(load, Scenario.CONSUME_PYDANTIC)
    parameters = pika.ConnectionParameters(contestant.address.host, contestant.address.port)
    with pika.BlockingConnection(parameters) as connection:
        _, properties, body = connection.channel().basic_get(load.queue)
    assert (properties.delivery_mode, properties.content_type) == (2, "application/json")
    assert body == load.body


@pytest.mark.parametrize(
    ("filled", "scenario", "done", "said"),
    [
        (False, Scenario.PUBLISH_100, 10, "10 of 10 messages, and the queue has 0 where 10 should"),
        (True, Scenario.PUBLISH_100, 9, "9 of 10 messages, and the queue has 10 where 10 should"),
        (True, Scenario.CONSUME_ACK, 10, "10 of 10 messages, and the queue has 10 where 0 should"),
        (False, Scenario.CONSUME_ACK, 9, "9 of 10 messages, and the queue has 0 where 0 should"),
    ],
)
def test_counts_that_do_not_add_up(
    filled: bool,
    scenario: Scenario,
    done: int,
    said: str,
    contestant: Contestant,
    unique: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue_module, "SETTLE_TIMEOUT_S", 0.0)
    load, queue = Load(unique("q"), 10, 100), ClientQueue(contestant.address)
    queue.prepare(load, Scenario.CONSUME_ACK if filled else Scenario.PUBLISH_100)
    with pytest.raises(Discrepancy, match=f"{scenario}: somebody did {said}"):
        queue.check(load, scenario, "somebody", done)


def test_it_is_gone_afterwards(contestant: Contestant, unique: Callable[[str], str]) -> None:
    load, queue = Load(unique("q"), 1, 100), ClientQueue(contestant.address)
    with pytest.raises(KeyError), queue.deleted_afterwards(load.queue):
        queue.prepare(load, Scenario.CONSUME_ACK)
        raise KeyError
    with closing(Session(contestant.address)) as control, pytest.raises(ConnectionError):
        control.ready(load.queue)
