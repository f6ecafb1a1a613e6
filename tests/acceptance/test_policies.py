"""Policies and operator policies through the HTTP API, and what clients see of them, alike on both
brokers.

RabbitMQ answers before its queues have a changed policy, so a test waits for what it says.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

WAIT_S = 20.0

Names = Callable[[str], str]


class Policies:
    """The policies of a test, which are removed when it ends."""

    def __init__(self, api: httpx.Client) -> None:
        self.api = api
        self._made: list[str] = []

    def put(self, name: str, target: str, definition: Any, **more: Any) -> None:
        """A policy for the queue or exchange ``target``."""
        self._put("policies", name, target, definition, more)

    def put_operator(self, name: str, target: str, definition: Any, **more: Any) -> None:
        self._put("operator-policies", name, target, definition, more)

    def _put(self, kind: str, name: str, target: str, definition: Any, more: Any) -> None:
        path = f"/api/{kind}/%2F/{quote(name)}"
        body = {"pattern": f"^{re.escape(target)}$", "definition": definition, **more}
        self.api.put(path, json=body).raise_for_status()
        self._made.append(path)

    def delete(self, name: str) -> None:
        self.api.delete(f"/api/policies/%2F/{quote(name)}").raise_for_status()

    def of_queue(self, name: str) -> tuple[Any, Any, Any]:
        """A queue's policy, operator policy and effective definition, as the broker reports
        them."""
        row = self.api.get(f"/api/queues/%2F/{quote(name)}").json()
        keys = ("policy", "operator_policy", "effective_policy_definition")
        policy, operator, effective = (row.get(key) for key in keys)
        return policy, operator, effective

    def close(self) -> None:
        for path in self._made:
            self.api.delete(path)


@pytest.fixture
def policies(broker: Any) -> Iterator[Policies]:
    with httpx.Client(
        base_url=broker.management_url,
        auth=("guest", "guest"),
        trust_env=False,
        verify=False,  # plain HTTP, without the time to read the authorities
    ) as api:
        policies = Policies(api)
        yield policies
        policies.close()


def eventually(channel: Any, ask: Callable[[], Any], answer: Any) -> None:
    """``ask`` says ``answer``, at once or some time later. It asks the broker over a connection,
    which is what passes the time."""
    end = time.monotonic() + WAIT_S
    while (found := ask()) != answer:
        assert time.monotonic() < end, f"{found!r}, and not {answer!r}"
        channel.declare_queue(exclusive=True)


def count(channel: Any, queue: str) -> int:
    ready: int = channel.declare_queue(queue, passive=True)[1]
    return ready


def fill(channel: Any, queue: str, number: int) -> list[str]:
    return [channel.publish("", queue, b"%d" % each) for each in range(number)]


def test_a_length_limit_cuts_at_once_and_ends_with_its_policy(
    channel: Any, policies: Policies, unique: Names
) -> None:
    queue, policy = unique("q"), unique("p")
    channel.declare_queue(queue, durable=True)
    fill(channel, queue, 5)
    policies.put(policy, queue, {"max-length": 2}, **{"apply-to": "queues"})
    eventually(channel, lambda: count(channel, queue), 2)
    assert channel.get(queue, no_ack=True).body == b"3"
    fill(channel, queue, 5)
    assert count(channel, queue) == 2
    policies.put(policy, queue, {"max-length": 3})
    eventually(channel, lambda: (fill(channel, queue, 4), count(channel, queue))[1], 3)
    policies.delete(policy)
    eventually(channel, lambda: (fill(channel, queue, 4), count(channel, queue) > 4)[1], True)


def test_the_smallest_of_argument_policy_and_operator_policy_holds(
    channel: Any, policies: Policies, unique: Names
) -> None:
    queue, policy, operator = unique("q"), unique("p"), unique("o")
    channel.declare_queue(queue, durable=True, arguments={"x-max-length": 4})
    policies.put(policy, queue, {"max-length": 20})
    fill(channel, queue, 6)
    eventually(channel, lambda: count(channel, queue), 4)
    policies.put_operator(operator, queue, {"max-length": 2, "expires": 600_000})
    eventually(channel, lambda: count(channel, queue), 2)
    policies.put(policy, queue, {"max-length": 1})
    eventually(channel, lambda: count(channel, queue), 1)
    effective = {"max-length": 1, "expires": 600_000}
    eventually(channel, lambda: policies.of_queue(queue), (policy, operator, effective))


def test_of_several_policies_the_highest_priority_applies_alone(
    channel: Any, policies: Policies, unique: Names
) -> None:
    queue, low, high = unique("q"), unique("low"), unique("high")
    policies.put(low, queue, {"max-length": 10, "message-ttl": 600_000}, priority=1)
    policies.put(high, queue, {"max-length": 3}, priority=2)
    channel.declare_queue(queue, durable=True)
    fill(channel, queue, 5)
    assert count(channel, queue) == 3
    eventually(channel, lambda: policies.of_queue(queue), (high, None, {"max-length": 3}))
    policies.delete(high)
    effective = {"max-length": 10, "message-ttl": 600_000}
    eventually(channel, lambda: policies.of_queue(queue), (low, None, effective))


def test_a_ttl_counts_for_what_comes_after_it(
    channel: Any, policies: Policies, unique: Names
) -> None:
    queue, policy = unique("q"), unique("p")
    channel.declare_queue(queue, durable=True)
    channel.publish("", queue, b"before")
    policies.put(policy, queue, {"message-ttl": 200})
    eventually(channel, lambda: policies.of_queue(queue)[0], policy)
    channel.publish("", queue, b"after")
    assert channel.get(queue, no_ack=True).body == b"before"
    eventually(channel, lambda: count(channel, queue), 0)


def test_a_ttl_of_0_discards_what_comes_behind_older_messages(
    channel: Any, policies: Policies, unique: Names
) -> None:
    queue, policy = unique("q"), unique("p")
    channel.declare_queue(queue, durable=True, arguments={"x-max-length": 1})
    channel.publish("", queue, b"before")
    policies.put_operator(policy, queue, {"message-ttl": 0})
    eventually(channel, lambda: policies.of_queue(queue)[1], policy)
    assert channel.publish("", queue, b"after") == "acked"
    assert channel.get(queue, no_ack=True).body == b"before"
    assert count(channel, queue) == 0


def test_an_unused_queue_expires_by_a_policy(
    channel: Any, policies: Policies, unique: Names
) -> None:
    queue = unique("q")
    channel.declare_queue(queue, durable=True)
    policies.put(unique("p"), queue, {"expires": 200})
    path = f"/api/queues/%2F/{quote(queue)}"
    eventually(channel, lambda: policies.api.get(path).status_code, 404)


def test_dead_letters_and_overflow_by_a_policy(
    channel: Any, policies: Policies, unique: Names
) -> None:
    queue, dead, policy = unique("q"), unique("dead"), unique("p")
    channel.declare_queue(queue, durable=True)
    channel.declare_queue(dead, durable=True)
    definition = {
        "dead-letter-exchange": "", "dead-letter-routing-key": dead,
        "max-length": 1, "overflow": "reject-publish",
    }  # fmt: skip
    policies.put(policy, queue, definition)
    eventually(channel, lambda: policies.of_queue(queue)[0], policy)
    assert fill(channel, queue, 2) == ["acked", "nacked"]
    channel.reject(channel.get(queue).tag, requeue=False)
    got = channel.consume(dead).next()
    assert (got.body, got.headers["x-death"][0]["reason"]) == (b"0", "rejected")


def test_an_argument_wins_over_a_policy_where_there_is_no_smaller_one(
    channel: Any, policies: Policies, unique: Names
) -> None:
    queue, dead, other = unique("q"), unique("dead"), unique("other")
    definition = {
        "dead-letter-exchange": "amq.direct", "dead-letter-routing-key": dead,
        "max-length": 1, "overflow": "reject-publish",
    }  # fmt: skip
    policies.put(unique("p"), queue, definition)
    channel.declare_queue(dead, durable=True)
    channel.declare_queue(other, durable=True)
    channel.bind(other, "amq.direct", dead)
    arguments = {"x-dead-letter-exchange": "", "x-overflow": "drop-head"}
    channel.declare_queue(queue, durable=True, arguments=arguments)
    assert fill(channel, queue, 2) == ["acked", "acked"]
    got = channel.consume(dead).next()
    assert (got.body, got.exchange, got.routing_key) == (b"0", "", dead)
    assert count(channel, other) == 0


def test_an_alternate_exchange_by_a_policy(channel: Any, policies: Policies, unique: Names) -> None:
    exchange, alternate, queue, policy = (unique(name) for name in ("x", "ae", "q", "p"))
    channel.declare_exchange(exchange, "direct", durable=True)
    channel.declare_exchange(alternate, "fanout", durable=True)
    channel.declare_queue(queue, durable=True)
    channel.bind(queue, alternate)
    assert channel.publish(exchange, "k", b"lost") == "returned"
    policies.put(policy, exchange, {"alternate-exchange": alternate}, **{"apply-to": "exchanges"})
    eventually(channel, lambda: channel.publish(exchange, "k", b"kept"), "acked")
    row = policies.api.get(f"/api/exchanges/%2F/{quote(exchange)}").json()
    assert row["policy"] == policy
    policies.delete(policy)
    eventually(channel, lambda: channel.publish(exchange, "k", b"lost"), "returned")


def test_a_policy_with_a_key_of_another_queue_type_is_for_none_of_this(
    channel: Any, policies: Policies, unique: Names
) -> None:
    queue, suited = unique("q"), unique("suited")
    definition = {"max-length": 1, "delivery-limit": 5}
    policies.put(unique("unsuited"), queue, definition, priority=9)
    policies.put(suited, queue, {"max-length": 2})
    channel.declare_queue(queue, durable=True)
    fill(channel, queue, 4)
    assert count(channel, queue) == 2
    eventually(channel, lambda: policies.of_queue(queue)[0], suited)
