"""A file beside a broker of which only AMQP is reached."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mqkit.errors import DeadlineExceeded
from mqkit.topology import (
    ChangeKind,
    StepAction,
    StepState,
    Verdict,
    Wanted,
    apply,
    compile_topology,
    loads,
)
from mqkit.topology.live.over_amqp import UNSEEN, ask, changes_of, plan_of
from mqkit.topology.planning.step import name_of
from mqkit.topology.throwaway import ThrowAwayChannel
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Channel

pytestmark = pytest.mark.anyio


def text(prefix: str, queue: str = "{}") -> str:
    return (
        f"exchanges: {{{prefix}.x: {{type: topic}}}}\n"
        f"queues:\n  {prefix}.q: {queue}\n  {prefix}.r: {{bind: [{{from: {prefix}.x}}]}}\n"
    )


async def declared(bench: Any, written: str) -> None:
    async with ThrowAwayChannel(bench.open_channel) as channel:
        for declaration in compile_topology(loads(written)):
            await channel.declare(declaration)


async def test_what_is_missing_is_additive_and_is_not_declared_by_asking(bench: Any) -> None:
    wanted = Wanted.of(loads(text(bench.prefix)))
    found = plan_of(wanted, "/", await ask(wanted, bench.open_channel))
    assert [(step.verdict, step.action) for step in found.steps] == [
        *[(Verdict.ADDITIVE, StepAction.CREATE)] * 3,
        (Verdict.NO_OP, StepAction.CREATE),
    ]
    assert found.unseen == UNSEEN
    assert (await bench.snapshot()).declarations == ()
    applied = await apply(found, bench.open_channel)
    assert applied.count(StepState.DONE) == 4
    assert len((await bench.snapshot()).declarations) == 4


async def test_what_is_there_and_the_same_is_kept(bench: Any) -> None:
    await declared(bench, text(bench.prefix))
    wanted = Wanted.of(loads(text(bench.prefix)))
    answers = await ask(wanted, bench.open_channel)
    assert plan_of(wanted, "/", answers).changes == ()
    kinds = [change.kind for change in changes_of(wanted, answers)]
    assert kinds == [ChangeKind.SAME] * 3 + [ChangeKind.UNSEEN]


async def test_a_406_names_one_difference_and_the_rest_is_asked_about(bench: Any) -> None:
    await declared(bench, text(bench.prefix))
    wanted = Wanted.of(loads(text(bench.prefix, "{message_ttl: 5s, max_priority: 3}")))
    found = plan_of(wanted, "/", await ask(wanted, bench.open_channel))
    (step,) = found.changes
    assert (step.verdict, step.messages, step.consumers) == (Verdict.NEEDS_MIGRATION, 0, 0)
    (difference,) = step.differences
    assert difference.field in ("x-message-ttl", "x-max-priority")
    assert len(found.steps) == 4


async def test_an_exchange_of_another_type_is_told(bench: Any) -> None:
    await declared(bench, text(bench.prefix))
    wanted = Wanted.of(loads(text(bench.prefix).replace("topic", "fanout")))
    change = changes_of(wanted, await ask(wanted, bench.open_channel))[0]
    assert [str(it) for it in change.differences] == ["type: is 'topic', wanted 'fanout'"]


async def test_policies_are_steps_that_can_t_be_done(bench: Any) -> None:
    queue = "{message_ttl: 5s, via_policy: [message_ttl]}"
    wanted = Wanted.of(loads(text(bench.prefix, queue)))
    await declared(bench, text(bench.prefix))
    answers = await ask(wanted, bench.open_channel)
    assert changes_of(wanted, answers)[-1].kind is ChangeKind.UNSEEN
    found = plan_of(wanted, "/", answers)
    (step,) = found.changes
    assert (step.verdict, step.action) == (Verdict.POLICY_ONLY, StepAction.SET)
    applied = await apply(found, bench.open_channel)
    assert [name_of(it.step.declaration) for it in applied.quarantined] == [
        f"{bench.prefix}.q.policy"
    ]


async def test_a_queue_of_another_connection_is_refused(bench: Any) -> None:
    await declared(bench, text(bench.prefix, "{exclusive: true}"))
    wanted = Wanted.of(loads(text(bench.prefix, "{exclusive: true}")))

    async def from_elsewhere() -> Channel:
        connection = await NativeTransport().connect(bench.endpoint, name="t", timeout_s=20)
        connections.append(connection)
        return await connection.channel()

    connections: list[Any] = []
    answers = await ask(wanted, from_elsewhere)
    for connection in connections:
        await connection.close()
    (step,) = plan_of(wanted, "/", answers).changes
    assert step.verdict is Verdict.REFUSED
    assert "405" in step.reason
    (change,) = [it for it in changes_of(wanted, answers) if it.kind is ChangeKind.DIFFERENT]
    assert "405" in str(change.differences[0])


async def test_a_broker_that_never_answers_ends_at_the_deadline() -> None:
    async def never() -> Channel:
        await asyncio.Event().wait()
        raise AssertionError

    wanted = Wanted.of(loads(text("t")))
    with pytest.raises(DeadlineExceeded, match="0 of 4 objects were asked about"):
        await ask(wanted, never, timeout_s=0.05)
