"""The effect of policies on one queue and one exchange."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.arguments.queue_arguments import (
    MAX_EXPIRY_MS,
    Overflow,
    QueueArguments,
    parse_stored,
)
from reference_broker.core.exchange.exchange import Exchange, ExchangeType
from reference_broker.core.policy.policy import NO_POLICIES, AppliedPolicies, Policy, PolicyKind
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.policy_effect import (
    apply_to_exchange,
    apply_to_queue,
    effective_limits,
)
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost, delete_now
from reference_broker.testing.recording_journal import RecordingJournal

HEADER = encode_header(1, Properties(delivery_mode=2))


def applied(**definition: Any) -> AppliedPolicies:
    value = {
        "pattern": "",
        "definition": {key.replace("_", "-"): value for key, value in definition.items()},
    }
    return AppliedPolicies(Policy("p", *PolicyWish.parse(PolicyKind.USER, "p", value), 1))


@pytest.fixture
def host() -> QueueHost:
    return QueueHost(RecordingJournal())


def limits(arguments: dict[str, Any], definition: dict[str, Any]) -> QueueArguments:
    return effective_limits(QueueArguments.parse(arguments, "q", "/"), arguments, definition)


@pytest.mark.parametrize(
    ("key", "field"),
    [
        ("message-ttl", "message_ttl_ms"),
        ("expires", "expires_ms"),
        ("max-length", "max_length"),
        ("max-length-bytes", "max_length_bytes"),
        ("consumer-timeout", "consumer_timeout_ms"),
    ],
)
def test_of_numbers_the_smallest_holds(key: str, field: str) -> None:
    for argument, policy, holds in ((None, 5, 5), (3, 5, 3), (5, 3, 3)):
        arguments = {} if argument is None else {f"x-{key}": argument}
        assert getattr(limits(arguments, {key: policy}), field) == holds
    assert getattr(limits({f"x-{key}": 3}, {"max-in-memory-length": 1}), field) == 3


def test_of_all_else_the_argument_holds() -> None:
    definition = {
        "dead-letter-exchange": "theirs",
        "dead-letter-routing-key": "key",
        "overflow": "reject-publish",
    }
    theirs = limits({}, definition)
    assert (theirs.dead_letter_exchange, theirs.dead_letter_routing_key, theirs.overflow) == (
        "theirs",
        "key",
        Overflow.REJECT_PUBLISH,
    )
    mine = limits({"x-dead-letter-exchange": "", "x-overflow": "drop-head"}, definition)
    assert (mine.dead_letter_exchange, mine.dead_letter_routing_key, mine.overflow) == (
        "",
        "key",
        Overflow.DROP_HEAD,
    )


def test_what_policies_do_not_speak_of_stays() -> None:
    arguments = {"x-max-priority": 5, "x-single-active-consumer": True}
    own = QueueArguments.parse(arguments, "q", "/")
    assert effective_limits(own, arguments, {"queue-mode": "lazy"}) is own
    limited = effective_limits(own, arguments, {"max-length": 3})
    assert (limited.max_priority, limited.single_active_consumer) == (5, True)


def test_an_argument_that_the_log_has_and_that_is_wrong_is_none() -> None:
    arguments = {"x-consumer-timeout": "soon"}
    own = parse_stored(arguments, "q", "/")
    assert effective_limits(own, arguments, {"consumer-timeout": 5}).consumer_timeout_ms == 5


def test_a_default_is_no_argument() -> None:
    by_default = QueueArguments(max_length=20)
    assert effective_limits(by_default, {}, {"max-length": 100}).max_length == 100


def test_a_time_beyond_all_bounds_is_as_good_as_ten_years(host: QueueHost) -> None:
    queue = host.declare("q")
    apply_to_queue(queue, applied(message_ttl=10**30, expires=10**30))
    assert (queue.limits.message_ttl_ms, queue.limits.expires_ms) == (MAX_EXPIRY_MS, MAX_EXPIRY_MS)
    host.publish(queue, b"a", header=HEADER)
    assert queue.ready == 1


def bodies(queue: Queue) -> list[bytes]:
    return [bytes(content.body) for content in queue.contents.values()]


def test_a_length_limit_cuts_from_the_head_and_goes_with_its_policy(host: QueueHost) -> None:
    queue = host.declare("q", max_length=4)
    host.publish(queue, *(b"%d" % n for n in range(4)), header=HEADER)
    apply_to_queue(queue, applied(max_length=2))
    host.settle()
    assert bodies(queue) == [b"2", b"3"]
    host.publish(queue, b"4", header=HEADER)
    assert bodies(queue) == [b"3", b"4"]
    apply_to_queue(queue, NO_POLICIES)
    host.publish(queue, b"5", b"6", b"7", header=HEADER)
    assert bodies(queue) == [b"4", b"5", b"6", b"7"], "the argument still holds"
    apply_to_queue(queue, applied(overflow="reject-publish", max_length=9))
    assert not host.publish(queue, b"8", header=HEADER)


def test_a_long_queue_is_cut_in_portions() -> None:
    host = QueueHost(units=100)
    queue = host.declare("q")
    host.publish(queue, *([b"x"] * 205), header=HEADER)
    apply_to_queue(queue, applied(max_length=3))
    assert queue.dropped <= 100, "as many as the turn has units"
    seen = [queue.dropped]
    while not host.turn():
        seen.append(queue.dropped)
    assert (queue.ready, queue.dropped) == (3, 202)
    assert all(after - before <= 100 for before, after in pairwise(seen))


def test_a_cut_ends_with_its_policy_or_its_queue() -> None:
    host = QueueHost(units=100)
    spared, doomed = host.declare("spared"), host.declare("doomed")
    for queue in (spared, doomed):
        host.publish(queue, *([b"x"] * 205), header=HEADER)
    apply_to_queue(spared, applied(max_length=3))
    host.turn()
    apply_to_queue(doomed, applied(max_length=3))
    dropped = spared.dropped
    assert 0 < dropped < 202
    apply_to_queue(spared, NO_POLICIES)
    delete_now(doomed)
    while not host.turn():
        pass
    assert (spared.dropped, doomed.dropped) == (dropped, 0)


def test_what_is_cut_is_dead_lettered(host: QueueHost) -> None:
    dead = host.declare("dead")
    queue = host.declare("q")
    host.publish(queue, b"1", b"2", header=HEADER)
    apply_to_queue(
        queue, applied(max_length=1, dead_letter_exchange="", dead_letter_routing_key="dead")
    )
    host.settle()
    assert (bodies(queue), bodies(dead)) == ([b"2"], [b"1"])


def test_a_ttl_is_for_what_comes_after_it(host: QueueHost) -> None:
    queue = host.declare("q")
    host.publish(queue, b"before", header=HEADER)
    apply_to_queue(queue, applied(message_ttl=100))
    host.publish(queue, b"after", header=HEADER)
    host.advance(200)
    assert bodies(queue) == [b"before", b"after"], "only the head expires"
    lease = queue.get(None)
    assert lease is not None
    assert queue.ready == 0
    apply_to_queue(queue, applied(message_ttl=100))
    host.publish(queue, b"with", header=HEADER)
    apply_to_queue(queue, NO_POLICIES)
    host.publish(queue, b"without", header=HEADER)
    host.advance(200)
    assert bodies(queue) == [b"without"]


def test_expires_starts_over_and_ends(host: QueueHost) -> None:
    queue = host.declare("q")
    host.advance(1_000)
    apply_to_queue(queue, applied(expires=500))
    host.advance(400)
    apply_to_queue(queue, applied(expires=600))
    host.advance(500)
    assert not queue.deleted
    apply_to_queue(queue, applied(expires=600, max_length=5))
    host.advance(200)
    assert queue.deleted, "another change does not begin it anew"

    kept = host.declare("kept")
    apply_to_queue(kept, applied(expires=500))
    apply_to_queue(kept, NO_POLICIES)
    host.advance(1_000)
    assert not kept.deleted


def test_a_queue_in_use_does_not_expire_by_a_policy(host: QueueHost) -> None:
    queue = host.declare("q")
    queue.add_consumer(LoneConsumer())
    apply_to_queue(queue, applied(expires=100))
    host.advance(1_000)
    assert not queue.deleted


def test_an_alternate_exchange_unless_the_argument_has_one() -> None:
    plain = Exchange("x", ExchangeType.DIRECT)
    assert apply_to_exchange(plain, applied(alternate_exchange="theirs"))
    assert plain.alternate == "theirs"
    assert not apply_to_exchange(plain, applied(alternate_exchange="theirs", max_length=1))
    assert apply_to_exchange(plain, NO_POLICIES)
    assert plain.alternate is None
    mine = Exchange("x", ExchangeType.DIRECT, arguments={"alternate-exchange": "mine"})
    assert not apply_to_exchange(mine, applied(alternate_exchange="theirs"))
    assert mine.alternate == "mine"
