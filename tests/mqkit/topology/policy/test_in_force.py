"""Which policy applies, and what is in force by it: by our own reckoning, and by the brokers'."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from mqkit.declaration import Exchange, Queue
from mqkit.message import Message
from mqkit.topology.model import QueueType
from mqkit.topology.policy.in_force import (
    Applying,
    Setting,
    best,
    compiled,
    matches,
    settings_in_force,
    type_of,
)
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel
from mqkit.transport.native import NativeTransport

TIMEOUT_S = 60.0
A_WHILE_S = 0.2


def policy(name: str, pattern: str = "", priority: float = 0, **definition: Any) -> PolicyModel:
    keys = {key.replace("_", "-"): value for key, value in definition.items()}
    return PolicyModel(name, pattern, ApplyTo.QUEUES, priority, keys or {"max-length": 5})


def quorum(name: str) -> Queue:
    return Queue(name, arguments={"x-queue-type": "quorum"})


def test_a_pattern_is_searched_for_in_the_octets_of_a_name() -> None:
    assert matches(policy("p", "rd"), Queue("orders"))
    assert not matches(policy("p", "^rd"), Queue("orders"))
    assert matches(policy("p", "^sp..te$"), Queue("späte"))  # two octets
    assert not matches(policy("p", "^sp.te$"), Queue("späte"))


def test_what_is_no_regular_expression_matches_nothing() -> None:
    assert compiled("(") is None
    assert not matches(policy("p", "("), Queue("("))


@pytest.mark.parametrize(
    ("apply_to", "covered"),
    [
        (ApplyTo.ALL, "classic quorum stream exchange"),
        (ApplyTo.QUEUES, "classic quorum stream"),
        (ApplyTo.CLASSIC_QUEUES, "classic"),
        (ApplyTo.QUORUM_QUEUES, "quorum"),
        (ApplyTo.STREAMS, "stream"),
        (ApplyTo.EXCHANGES, "exchange"),
    ],
)
def test_apply_to(apply_to: ApplyTo, covered: str) -> None:
    objects: dict[str, Queue | Exchange] = {
        str(kind): Queue("q", arguments={"x-queue-type": str(kind)}) for kind in QueueType
    }
    objects["exchange"] = Exchange("q")
    wide = PolicyModel("p", "q", apply_to, 0, {"max-length-bytes": 5})
    assert " ".join(name for name, it in objects.items() if matches(wide, it)) == covered


def test_a_key_that_a_queue_has_not_keeps_the_whole_policy_off() -> None:
    both = policy("p", max_length=5, queue_mode="lazy")
    assert matches(both, Queue("q"))
    assert not matches(both, quorum("q"))


def test_the_highest_priority_applies_and_of_equal_ones_the_first() -> None:
    low, high, also = policy("low"), policy("high", priority=2.5), policy("also", priority=2.5)
    assert best([low, high, also], Queue("q")) is high
    assert best([], Queue("q")) is None


def test_a_queue_of_an_unknown_type_counts_as_classic() -> None:
    assert type_of(Queue("q", arguments={"x-queue-type": "x-mine"})) is QueueType.CLASSIC


def test_of_limits_the_lowest_and_of_all_else_the_argument_is_in_force() -> None:
    applying = Applying(
        policy("p", max_length=3, overflow="reject-publish", message_ttl=50, expires=9),
        policy("o", max_length=4, message_ttl=40),
    )
    arguments = {"x-max-length": 5, "x-overflow": "drop-head", "x-message-ttl": 10}
    found = settings_in_force(Queue("q", arguments=arguments), applying)
    assert found == {
        "max-length": Setting(3, "policy 'p'"),
        "overflow": Setting("drop-head", "argument x-overflow"),
        "message-ttl": Setting(10, "argument x-message-ttl"),
        "expires": Setting(9, "policy 'p'"),
    }


def test_a_negative_limit_is_none() -> None:
    queue = Queue("q", arguments={"x-queue-type": "quorum", "x-delivery-limit": -1})
    found = settings_in_force(queue, Applying(policy("p", delivery_limit=7)))
    assert found["delivery-limit"].value == 7


def test_an_exchange_keeps_the_alternate_of_its_arguments() -> None:
    other = PolicyModel("p", "", ApplyTo.ALL, 0, {"alternate-exchange": "other"})
    own = Exchange("x", arguments={"alternate-exchange": "own"})
    assert settings_in_force(own, Applying(other))["alternate-exchange"].value == "own"
    assert settings_in_force(Exchange("x"), Applying(other))["alternate-exchange"].value == "other"


class Policies:
    """Policies of a test, on a broker."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self._made: list[str] = []

    async def put(self, it: PolicyModel, kind: str = "policies") -> None:
        path = f"/api/{kind}/%2F/{quote(it.name, safe='')}"
        body = {
            "pattern": it.pattern,
            "apply-to": str(it.apply_to),
            "priority": it.priority,
            "definition": dict(it.definition),
        }
        (await self._client.put(path, json=body)).raise_for_status()
        self._made.append(path)

    async def row(self, name: str) -> Mapping[str, Any]:
        """The queue's row, as soon as RabbitMQ has gathered it."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                answer = await self._client.get(f"/api/queues/%2F/{quote(name, safe='')}")
                row: dict[str, Any] = answer.json()
                if "effective_policy_definition" in row:
                    return row
                with suppress(TimeoutError):
                    async with asyncio.timeout(A_WHILE_S):
                        await asyncio.Event().wait()

    async def remove(self) -> None:
        for path in self._made:
            await self._client.delete(path)


@pytest.fixture
async def policies(broker: Any) -> AsyncIterator[Policies]:
    url = broker.management_url
    async with httpx.AsyncClient(base_url=url, auth=("guest", "guest"), trust_env=False) as client:
        found = Policies(client)
        try:
            yield found
        finally:
            await found.remove()


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_broker_names_the_policies_that_apply_by_our_reckoning(
    bench: Any, policies: Policies
) -> None:
    p = f"^{bench.prefix}"
    users = [
        policy(f"{p} wide", p, 0, max_length=9),
        policy(f"{p} lazy", p, 7, max_length=8, queue_mode="lazy"),
        policy(f"{p} limit", p, 6, delivery_limit=3, message_ttl=60_000),
        policy(f"{p} high", f"{p}.*high$", 9, overflow="reject-publish", max_length=4),
    ]
    operators = [policy(f"{p} bound", p, 0, max_length=6, expires=10**9)]
    for it in users:
        await policies.put(it)
    for it in operators:
        await policies.put(it, "operator-policies")
    channel = await bench.open_channel()
    names = (f"{bench.prefix}.low", f"{bench.prefix}.high", f"{bench.prefix}.q")
    queues = [Queue(names[0]), Queue(names[1]), quorum(names[2])]
    for queue in queues:
        await channel.declare_queue(queue)
    chosen = []
    for queue in queues:
        row = await policies.row(queue.name)
        applying = Applying(best(users, queue), best(operators, queue))
        assert applying.policy is not None
        assert applying.operator is not None
        assert (row["policy"], row["operator_policy"]) == (
            applying.policy.name,
            applying.operator.name,
        )
        ours = {key: it.value for key, it in settings_in_force(queue, applying).items()}
        theirs = row["effective_policy_definition"]
        assert ours == {key: value for key, value in theirs.items() if key != "queue-mode"}
        chosen.append(applying.policy.name.rpartition(" ")[2])
    assert chosen == ["lazy", "high", "limit"]


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize(
    ("argument", "by_policy", "by_operator"), [(2, 4, 9), (4, 2, 9), (4, 9, 2)]
)
async def test_the_broker_keeps_as_many_messages_as_is_in_force_by_our_reckoning(
    bench: Any, policies: Policies, argument: int, by_policy: int, by_operator: int
) -> None:
    name = f"{bench.prefix}.q"
    user, operator = (
        policy(name, f"^{name}$", max_length=by_policy),
        policy(name, f"^{name}$", max_length=by_operator),
    )
    await policies.put(user)
    await policies.put(operator, "operator-policies")
    queue = Queue(name, arguments={"x-max-length": argument})
    connection = await NativeTransport().connect(bench.endpoint, name="t", timeout_s=TIMEOUT_S)
    channel = await connection.channel(confirms=True)
    await channel.declare_queue(queue)
    await asyncio.gather(*await channel.publish_many([Message("", name, b"")] * 6))
    state = await channel.declare_queue(queue, passive=True)
    await connection.close()
    assert state.message_count == 2
    assert settings_in_force(queue, Applying(user, operator))["max-length"].value == 2
