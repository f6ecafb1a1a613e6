"""The stand-in for a queue of another node: its leases, its arguments, and what it refuses."""

from __future__ import annotations

from functools import partial

import pytest

from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicConsume,
    BasicGet,
    BasicGetOk,
    BasicNack,
    BasicReject,
    ChannelClose,
    ConnectionClose,
    QueueDelete,
)
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.core.remote.ports import Got, Settlement
from reference_broker.testing.homes.scripted_nodes import ScriptedNodes, content


@pytest.fixture
def nodes() -> ScriptedNodes:
    return ScriptedNodes()


def come_back(nodes: ScriptedNodes) -> None:
    """Have the home be there again, with nothing that it knew."""
    nodes.home.is_up = True
    nodes.home.take_asked()


def test_a_settlement_from_before_a_loss_is_not_told_to_the_home_that_is_back(
    nodes: ScriptedNodes,
) -> None:
    nodes.consume(prefetch=2)
    nodes.deliver(1)
    home, queue = nodes.home, nodes.queue
    (lease,) = queue.leases.values()

    def settled_just_before_the_loss() -> None:
        queue.ack(lease)
        home.lose()
        home.is_up = True

    nodes.asks()
    nodes.take(settled_just_before_the_loss)
    assert nodes.asks() == []


def test_nothing_is_told_to_a_home_that_is_down(nodes: ScriptedNodes) -> None:
    nodes.consume(prefetch=2)
    nodes.deliver(1)
    nodes.deliver(2)
    nodes.asks()
    nodes.lone.take(nodes.home.lose)
    nodes.ask(BasicAck(1), BasicCancel("tag"))
    assert nodes.asks() == []
    come_back(nodes)
    nodes.ask(BasicAck(2))
    assert nodes.asks() == []


def test_a_question_to_a_home_that_was_lost_meanwhile_has_no_settlements_before_it(
    nodes: ScriptedNodes,
) -> None:
    nodes.consume(prefetch=1)
    nodes.deliver(1)
    nodes.asks()

    def lost_and_back() -> None:
        nodes.home.lose()
        nodes.home.is_up = True

    nodes.take(lost_and_back)
    nodes.ask(BasicAck(1), BasicGet("q"))
    assert [asked[0] for asked in nodes.asks()] == ["get"]


def test_a_lease_that_was_got_is_stale_when_the_home_was_lost(nodes: ScriptedNodes) -> None:
    nodes.ask(BasicGet("q"))
    nodes.answer(Got(41, False, content(b"x"), 0))
    assert nodes.hears() == [BasicGetOk(1, False, "", "q", 0)]
    nodes.lone.take(nodes.home.lose)
    come_back(nodes)
    nodes.ask(BasicAck(1))
    assert nodes.asks() == []
    assert nodes.queue.unacked == 0


def test_a_consumer_has_the_number_by_which_its_home_knows_it(nodes: ScriptedNodes) -> None:
    nodes.consume()
    (consumer,) = nodes.queue.consumers
    (number,) = nodes.home.takers
    assert nodes.queue.attachment_number(consumer) == number
    nodes.take(nodes.taker.gone)
    assert nodes.queue.attachment_number(consumer) == 0


def test_a_consumer_whose_home_is_lost_as_it_comes_is_refused(nodes: ScriptedNodes) -> None:
    nodes.ask(BasicConsume("q", "tag"))
    nodes.lone.take(nodes.home.lose)
    (closed,) = nodes.hears()
    assert isinstance(closed, ChannelClose)
    assert (closed.reply_code, closed.class_id, closed.method_id) == (404, 60, 20)
    assert "home node 'mqkit@b'" in closed.reply_text
    assert not nodes.queue.consumers


def test_its_arguments_are_shown_and_a_policy_is_laid_over_them() -> None:
    nodes = ScriptedNodes(x_max_length=5, x_message_ttl=9_000)
    policies = nodes.lone.broker.vhosts["/"].policies
    value = {"pattern": "q", "definition": {"max-length": 3, "message-ttl": 10_000}}
    wish = PolicyWish.parse(PolicyKind.USER, "p", value)

    def shown() -> tuple[int | None, int | None]:
        return nodes.queue.limits.max_length, nodes.queue.limits.message_ttl_ms

    assert shown() == (5, 9_000)
    nodes.take(partial(policies.set, PolicyKind.USER, "p", wish))
    nodes.lone.pass_time(1)
    assert shown() == (3, 9_000)
    nodes.take(partial(policies.remove, PolicyKind.USER, "p"))
    nodes.lone.pass_time(1)
    assert shown() == (5, 9_000)


def test_what_its_limits_ask_for_is_done_at_home_alone() -> None:
    nodes = ScriptedNodes(x_max_length=1, x_message_ttl=1, x_expires=1)
    for _ in range(3):
        nodes.client.publish("q")
    assert len(nodes.home.published) == 3
    nodes.lone.pass_time(10)
    assert not nodes.queue.deleted
    assert nodes.queue.length_limit is None


def test_a_quorum_queue_has_no_conditional_deletion_and_the_home_is_not_asked() -> None:
    nodes = ScriptedNodes(x_queue_type="quorum")
    nodes.ask(QueueDelete("q", if_empty=True))
    (closed,) = nodes.hears()
    assert isinstance(closed, ConnectionClose)
    assert closed.reply_code == 540
    assert nodes.asks() == []


def test_a_settlement_is_told_though_the_queue_is_deleted(nodes: ScriptedNodes) -> None:
    """The home, where the deletion is to be seen later, counts it as any other."""
    nodes.consume(prefetch=1)
    nodes.deliver(1)
    nodes.asks()
    nodes.take(partial(nodes.lone.broker.vhosts["/"].delete_queue, "q"))
    nodes.ask(BasicAck(1))
    assert nodes.asks() == [("settle", 7, Settlement.ACK, (1,))]


def test_what_was_got_as_the_home_was_lost_is_stale(nodes: ScriptedNodes) -> None:
    nodes.ask(BasicGet("q"))
    nodes.take(
        partial(nodes.home.answer, Got(41, True, content(b"x"), 0)),
        nodes.home.lose,
    )
    assert nodes.hears() == [BasicGetOk(1, True, "", "q", 0)]
    come_back(nodes)
    nodes.ask(BasicAck(1))
    assert nodes.asks() == []


def test_it_counts_what_goes_through_this_node(nodes: ScriptedNodes) -> None:
    queue = nodes.queue
    nodes.consume()
    nodes.deliver_run(1, *[b"x"] * 6)
    nodes.ask(BasicAck(1), BasicReject(2, requeue=False), BasicNack(4, multiple=True, requeue=True))
    nodes.ask(BasicReject(5, requeue=True))
    assert (queue.acked, queue.rejected, queue.requeued) == (1, 1, 3)
    for no_ack in (True, False):
        nodes.ask(BasicGet("q", no_ack=no_ack))
        nodes.answer(Got(41, True, content(b"x"), 0))
    assert (queue.got, queue.got_no_ack, queue.redelivered_count) == (2, 1, 2)


def test_a_lease_that_it_does_not_know_is_stale(nodes: ScriptedNodes) -> None:
    queue = nodes.queue
    nodes.consume()
    nodes.deliver(1)
    (lease,) = queue.leases.values()
    nodes.asks()
    nodes.ask(BasicAck(1))
    nodes.take(partial(queue.reject, lease), partial(queue.requeue, [lease]))
    assert [asked[0] for asked in nodes.asks()] == ["settle"]
    assert (queue.stale_settlements, queue.rejected, queue.requeued) == (2, 0, 0)


def test_what_comes_back_after_a_timeout_has_not_failed(nodes: ScriptedNodes) -> None:
    nodes.consume()
    nodes.deliver(1)
    nodes.asks()
    nodes.take(partial(nodes.queue.requeue, list(nodes.queue.leases.values()), failed=False))
    assert nodes.asks() == [("settle", 7, Settlement.REQUEUE, (1,))]
