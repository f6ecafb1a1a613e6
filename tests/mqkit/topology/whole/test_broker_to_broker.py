"""Export, apply, export on another broker: the same file, octet for octet, policies included.

``MQKIT_TOPOLOGIES=n`` for more of them; ``MQKIT_TOPOLOGIES_SEED=n`` for those of an earlier run.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from mqkit.retry.policy import RetryPolicy
from mqkit.retry.then import Then
from mqkit.topology import (
    Applied,
    Bind,
    ChangeKind,
    DeadLetter,
    ExchangeModel,
    Overflow,
    PolicyModel,
    QueueModel,
    QueueType,
    Snapshot,
    StepState,
    Topology,
    Verdict,
    Wanted,
    apply,
    channels_of,
    compare,
    export,
    loads,
    open_management,
    plan,
    take_snapshot,
    validate,
)
from mqkit.topology.planning.step import name_of
from mqkit.topology.policy.policy_model import ApplyTo
from mqkit.transport.native import NativeTransport
from mqkit.url import parse

pytestmark = [pytest.mark.anyio, pytest.mark.rabbitmq, pytest.mark.slow]

COUNT = int(os.environ.get("MQKIT_TOPOLOGIES", "3"))
SEED = int(os.environ.get("MQKIT_TOPOLOGIES_SEED", "0")) or secrets.randbelow(2**32)
TIMEOUT_S = 60.0
NAMES = ["orders", "e-mail queue", "a.b+c", "späße", "x(1)", "v$^", "z[0]|y", "plain", "tail\\"]


class Generator:
    """Valid topologies that both brokers can have."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def topology(self) -> Topology:
        """A topology by dice, of which what is wrong is taken out again, object by object."""
        names = self._random.sample(NAMES, self._random.randint(2, len(NAMES)))
        exchanges = [self._exchange(f"in {name}") for name in names[:3]]
        found = Topology(tuple(exchanges))
        for name in names:
            found = self._with(found, queues=(*found.queues, self._queue(name, exchanges)))
        for number in range(self._random.randint(0, 4)):
            policies = (*found.policies, self._policy(f"policy {number}", number))
            found = self._with(found, policies=policies)
        return found

    def _with(self, found: Topology, **changed: Any) -> Topology:
        candidate = replace(found, **changed)
        return found if validate(candidate) else candidate

    def _maybe(self, make: Callable[[], Any], likely: float = 0.4) -> Any:
        return make() if self._random.random() < likely else None

    def _exchange(self, name: str) -> ExchangeModel:
        kind = self._random.choice(["direct", "topic", "fanout", "headers"])
        delays = self._maybe(lambda: (1000, 60_000), 0.2) or ()
        return ExchangeModel(name, kind, delays=delays)

    def _queue(self, name: str, exchanges: list[ExchangeModel]) -> QueueModel:
        roll = self._random
        limited = roll.random() < 0.5
        model = QueueModel(
            name,
            type=roll.choice([None, QueueType.CLASSIC, QueueType.QUORUM]),
            max_length=self._maybe(lambda: roll.randint(0, 9)) if limited else None,
            max_length_bytes=self._maybe(lambda: roll.randint(0, 9)) if limited else None,
            overflow=roll.choice(list(Overflow)[:2]) if limited else None,
            message_ttl_ms=self._maybe(lambda: roll.randint(0, 10**9)),
            expires_ms=self._maybe(lambda: roll.randint(10**7, 10**9), 0.1),
            dead_letter=self._maybe(lambda: DeadLetter(exchanges[0].name, "k"), 0.2),
            retry=self._maybe(lambda: RetryPolicy((1000, 5000), roll.choice(list(Then)))),
            bind=tuple(Bind(one.name, roll.choice(["", "a.*", "#"])) for one in exchanges[:2]),
        )
        sayable = [
            *(key for key in ("max_length", "max_length_bytes") if getattr(model, key) is not None),
            *(["overflow"] if model.overflow else []),
            *(["message_ttl"] if model.message_ttl_ms is not None else []),
            *(["dead_letter"] if model.dead_letter else []),
        ]
        listed = tuple(key for key in sayable if roll.random() < 0.5)
        with_policy = replace(model, via_policy=listed)
        return model if validate(Topology(tuple(exchanges), (with_policy,))) else with_policy

    def _policy(self, name: str, number: int) -> PolicyModel:
        roll = self._random
        definition = {
            "max-length": roll.randint(0, 9),
            "message-ttl": roll.randint(0, 9),
            "queue-mode": "lazy",
            "overflow": "reject-publish",
        }
        keys = roll.sample(sorted(definition), roll.randint(1, len(definition)))
        return PolicyModel(
            name,
            roll.choice(["", "^[a-p]", "e", r"\.b", "nothing"]),
            roll.choice([ApplyTo.ALL, ApplyTo.QUEUES]),
            roll.choice([number, number + 0.5, -number]),
            {key: definition[key] for key in keys},
        )


class Place:
    """One vhost of a broker."""

    def __init__(self, broker: Any, vhost: str) -> None:
        self._url = broker.management_url
        self._vhost = vhost
        self._endpoint = replace(parse(broker.url), vhost=vhost)

    async def snapshot(self) -> Snapshot:
        return await take_snapshot(self._url, self._vhost, timeout_s=TIMEOUT_S)

    async def apply(self, topology: Topology) -> Applied:
        before = await self.snapshot()
        steps = plan(Wanted.of(topology, before.policies), before)
        async with (
            channels_of(NativeTransport(), self._endpoint, timeout_s=TIMEOUT_S) as open_channel,
            open_management(self._url, self._vhost, timeout_s=TIMEOUT_S) as management,
        ):
            return await apply(steps, open_channel, policies=management)


@asynccontextmanager
async def place_on(broker: Any, vhost: str) -> AsyncIterator[Place]:
    path = f"{broker.management_url}/api/vhosts/{quote(vhost, safe='')}"
    async with httpx.AsyncClient(auth=("guest", "guest"), trust_env=False) as client:
        (await client.put(path, timeout=TIMEOUT_S)).raise_for_status()
        try:
            yield Place(broker, vhost)
        finally:
            (await client.delete(path, timeout=TIMEOUT_S)).raise_for_status()


@pytest.mark.parametrize("there_first", ["reference", "rabbitmq"])
@pytest.mark.parametrize("nth", range(COUNT))
async def test_the_other_broker_exports_the_same_file(
    reference_broker: Any, rabbitmq_broker: Any, nth: int, there_first: str
) -> None:
    seed = SEED + nth  # of each process its own: xdist wants the same names everywhere
    print(f"MQKIT_TOPOLOGIES_SEED={seed} MQKIT_TOPOLOGIES=1")
    topology = Generator(seed).topology()
    brokers = [reference_broker, rabbitmq_broker]
    if there_first == "rabbitmq":
        brokers.reverse()
    vhost = f"from {there_first} {seed}"
    async with place_on(brokers[0], vhost) as one, place_on(brokers[1], vhost) as other:
        done = await one.apply(topology)
        assert done.count(StepState.QUARANTINED) == 0, done.quarantined
        live = await one.snapshot()
        text = export(live)
        assert "refuses" not in text, text
        read = loads(text)
        wanted = Wanted.of(read, live.policies)
        assert {change.kind for change in compare(wanted, live)} <= {ChangeKind.SAME}
        steps = plan(wanted, live, prune=True)
        assert steps.count(Verdict.NO_OP) == len(steps.steps)
        again = await other.apply(read)
        assert again.count(StepState.QUARANTINED) == 0, again.quarantined
        assert export(await other.snapshot()) == text


def test_the_dice_fall_on_policies_of_queues_own() -> None:
    """Otherwise the test above would say less than it seems to."""
    rolled = [Generator(seed).topology() for seed in range(40)]
    assert sum(bool(queue.via_policy) for it in rolled for queue in it.queues) > 20
    assert sum(len(it.policies) for it in rolled) > 20


async def test_what_the_other_broker_cannot_have_is_told_before_anything_is_declared(
    reference_broker: Any, rabbitmq_broker: Any
) -> None:
    text = "queues:\n  log: {type: stream}\n  plain: {}\n"
    vhost = f"streams {SEED}"
    async with place_on(rabbitmq_broker, vhost) as one, place_on(reference_broker, vhost) as other:
        await one.apply(loads(text))
        read = loads(export(await one.snapshot()))
        empty = await other.snapshot()
        (refused,) = [
            step for step in plan(Wanted.of(read), empty).steps if step.verdict is Verdict.REFUSED
        ]
        assert name_of(refused.declaration) == "log"
        assert "no streams" in refused.reason
        applied = await other.apply(read)
        assert applied.count(StepState.QUARANTINED) == applied.count(StepState.DONE) == 1
