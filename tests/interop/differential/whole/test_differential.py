"""A short differential test, where there is a RabbitMQ; `make interop` runs the long one."""

from __future__ import annotations

from typing import Any

import pytest

from interop.brokers import Broker
from interop.differential.lockstep import Lockstep
from interop.differential.operation import Call, CloseConnection, Publish, Sequence
from interop.differential.search import search
from interop.differential.subject import Subject
from mqkit.url import parse
from mqkit.wire import Properties, methods

SEQUENCES = 100
SEED = 4


def lockstep_of(there: Any, here: Any) -> Lockstep:
    return Lockstep(Subject("RabbitMQ", broker(there)), Subject("ours", broker(here)))


def broker(of: Any) -> Broker:
    return Broker(parse(of.url), of.management_url)


@pytest.mark.slow
@pytest.mark.rabbitmq
@pytest.mark.timeout(600)
def test_generated_sequences_have_the_same_results_on_both_brokers(
    rabbitmq_broker: Any, reference_broker: Any
) -> None:
    tally = search(lockstep_of(rabbitmq_broker, reference_broker), SEQUENCES, SEED)
    assert tally.compared == SEQUENCES


def test_a_difference_is_found_and_told(reference_broker: Any) -> None:
    """Both sides are one broker here, so only one of them gets the exclusive queue."""
    declare = methods.QueueDeclare("q0", exclusive=True)
    sequence = Sequence((Call(1, methods.ConfirmSelect()), Call(2, declare)))
    difference = lockstep_of(reference_broker, reference_broker).run(sequence)
    assert difference is not None
    assert difference.number == 1
    told = str(difference)
    assert "after 1: Call(place=2, method=QueueDeclare(queue='q0', exclusive=True))" in told
    assert "queue.declare-ok" in told
    assert "RESOURCE_LOCKED" in told


def test_what_is_refused_alike_is_no_difference(reference_broker: Any) -> None:
    """After a refusal the next operation finds its channel, or its connection, open again."""
    sequence = Sequence(
        (
            Call(2, methods.QueueBind("missing", "amq.direct")),
            Call(2, methods.BasicGet("missing")),
            Call(1, methods.ChannelOpen()),
            Call(1, methods.ConfirmSelect()),
            Publish(1, methods.BasicPublish("", "nowhere", True), Properties(priority=1), count=2),
            Publish(1, methods.BasicPublish(), Properties(expiration="x")),
            CloseConnection(3),
        )
    )
    assert lockstep_of(reference_broker, reference_broker).run(sequence) is None
