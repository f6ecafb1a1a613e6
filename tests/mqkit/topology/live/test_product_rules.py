"""Refusals and remarks of products: by the table, and by the brokers that are here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.errors import BrokerError
from mqkit.topology import Snapshot, StepAction, Verdict, plan
from mqkit.topology.live.product import RABBITMQ, REFERENCE_BROKER, Product
from mqkit.topology.live.product_rules import RULES, Answer, findings
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel
from mqkit.topology.throwaway import ThrowAwayChannel

HERE = Product(REFERENCE_BROKER, (0, 1, 0))


def queue(kind: str = "classic", **arguments: Any) -> Queue:
    keys = {f"x-{name.replace('_', '-')}": value for name, value in arguments.items()}
    return Queue("q", arguments={"x-queue-type": kind, **keys})


def answers(subject: Declaration | PolicyModel, *version: int, name: str = RABBITMQ) -> set[Answer]:
    return {rule.answer for rule in findings(subject, Product(name, version))}


def test_streams() -> None:
    assert answers(queue("stream"), 0, 1, 0, name=REFERENCE_BROKER) == {Answer.REFUSED}
    assert answers(queue("stream"), 3, 8, 9) == {Answer.REFUSED}
    assert answers(queue("stream"), 3, 9, 0) == set()
    assert answers(queue("stream", message_ttl=1), 4, 0, 0) == {Answer.REFUSED}


def test_transient_queues() -> None:
    transient = Queue("q", durable=False)
    assert answers(transient, 4, 2, 9) == set()
    assert answers(transient, 4, 3, 0) == {Answer.REFUSED_BY_DEFAULT}
    assert answers(replace(transient, exclusive=True), 4, 3, 0) == set()


def test_priorities_of_quorum_queues() -> None:
    assert answers(queue("quorum", max_priority=3, delivery_limit=1), 3, 10, 8) == {Answer.REFUSED}
    assert answers(queue("quorum", max_priority=3, delivery_limit=1), 4, 3, 0) == set()


def test_the_delivery_limit_that_nobody_asked_for() -> None:
    assert answers(queue("quorum"), 3, 13, 0) == set()
    assert answers(queue("quorum"), 4, 0, 1) == {Answer.IGNORED}
    assert answers(queue("quorum"), 0, 1, name=REFERENCE_BROKER) == {Answer.IGNORED}
    assert answers(queue("quorum", dead_letter_exchange=""), 4, 0, 1) == set()
    assert answers(queue("quorum", delivery_limit=5), 4, 0, 1) == set()


def test_policies() -> None:
    by_type = PolicyModel("p", "", ApplyTo.QUORUM_QUEUES, 0, {"expires": 1})
    assert answers(by_type, 3, 10, 8) == {Answer.REFUSED}
    assert answers(by_type, 3, 12, 0) == set()
    mirrored = PolicyModel("p", "", ApplyTo.ALL, 0, {"ha-mode": "all"})
    assert answers(mirrored, 3, 13, 0) == set()
    assert answers(mirrored, 4, 0, 0) == {Answer.IGNORED}


def test_an_exchange_type_that_the_broker_has_not() -> None:
    product = Product(RABBITMQ, (3, 10, 8), frozenset(["topic"]))
    assert [rule.answer for rule in findings(Exchange("x", "topic"), product)] == []
    (rule,) = findings(Exchange("x", "x-mine"), product)
    assert rule.answer is Answer.REFUSED
    assert answers(Exchange("x", "x-mine"), 3, 10, 8) == set()  # it has not told its types


def test_a_broker_without_a_version_has_the_rules_of_all_versions() -> None:
    assert answers(queue(delivery_limit=1)) == {Answer.REFUSED}
    assert answers(Queue("q", durable=False)) == set()
    assert answers(queue("stream"), name="Another") == set()


def test_a_refused_queue_is_a_verdict_and_so_is_what_binds_it() -> None:
    wanted = (Exchange("x"), queue("stream"), Queue("r"), Binding("x", "q"), Binding("x", "r"))
    steps = plan(wanted, replace(Snapshot("/"), product=HERE)).steps
    refused = [step for step in steps if step.verdict is Verdict.REFUSED]
    assert [step.declaration for step in refused] == [wanted[1], wanted[3]]
    assert {step.action for step in refused} == {StepAction.KEEP}
    assert refused[0].reason.startswith("mqkit reference broker 0.1.0: the reference broker has no")


def test_what_is_there_was_not_refused() -> None:
    there = (queue("stream"),)
    found = plan(there, replace(Snapshot.of("/", there), product=HERE))
    assert found.changes == ()


def test_what_an_operator_may_have_allowed_is_tried() -> None:
    product = Product(RABBITMQ, (4, 3, 0))
    (step,) = plan([Queue("q", durable=False)], replace(Snapshot("/"), product=product)).steps
    assert (step.verdict, step.action) == (Verdict.REFUSED, StepAction.CREATE)


def test_what_is_ignored_is_a_remark() -> None:
    (step,) = plan([queue("quorum")], replace(Snapshot("/"), product=HERE)).steps
    assert step.verdict is Verdict.ADDITIVE
    assert "20 times" in step.remarks[0]


def test_each_rule_has_its_source() -> None:
    assert all(rule.words and rule.source for rule in RULES)


SUBJECTS = [
    *(Queue("q", durable=False), queue("quorum"), queue("stream"), queue("quorum", max_priority=3)),
    *(queue(delivery_limit=5), queue(max_age="1h"), queue(dead_letter_strategy="at-least-once")),
    *(queue("quorum", overflow="reject-publish-dlx"), queue("stream", max_length_bytes=5)),
    *(queue("stream", message_ttl=5), queue("stream", max_length=5), queue("stream", expires=5)),
    *(queue("stream", dead_letter_exchange=""), queue("stream", overflow="drop-head")),
    *(queue("stream", max_priority=3), queue(queue_mode="lazy"), queue(queue_version=1)),
]


@pytest.mark.anyio
@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
async def test_the_broker_refuses_what_the_table_says_and_nothing_else(
    bench: Any, subject: Queue
) -> None:
    product = (await bench.snapshot()).product
    foretold = any(rule.answer is Answer.REFUSED for rule in findings(subject, product))
    async with ThrowAwayChannel(bench.open_channel) as channel:
        refused = False
        try:
            await channel.declare(replace(subject, name=f"{bench.prefix}.q"))
        except BrokerError:
            refused = True
    assert refused == foretold
