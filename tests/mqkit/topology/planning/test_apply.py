"""Plans carried out at a broker."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.errors import ConnectionRefused, DeadlineExceeded, Unreachable
from mqkit.topology import (
    ApplyTo,
    Plan,
    PolicyModel,
    Step,
    StepAction,
    StepState,
    Verdict,
    apply,
    channels_of,
    plan,
)
from mqkit.topology.live.management import NotAllowed
from mqkit.topology.planning.apply import StepResult
from mqkit.topology.planning.diff import Difference
from mqkit.topology.snapshot import Snapshot
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Channel, Credentials, Endpoint

pytestmark = pytest.mark.anyio


def states(results: tuple[StepResult, ...]) -> list[StepState]:
    return [result.state for result in results]


async def test_a_second_apply_finds_everything_done(bench: Any) -> None:
    x, q = f"{bench.prefix}.x", f"{bench.prefix}.q"
    desired = (Exchange(x, "topic"), Queue(q), Binding(x, q, "#"))
    first = await apply(plan(desired, await bench.snapshot()), bench.open_channel)
    assert states(first.results) == [StepState.DONE] * 3
    again = plan(desired, await bench.snapshot())
    assert again.changes == ()
    assert states((await apply(again, bench.open_channel)).results) == [StepState.KEPT] * 3


async def test_a_refused_object_is_put_aside_with_its_diff_and_the_rest_goes_on(bench: Any) -> None:
    x, q, r = (f"{bench.prefix}.{name}" for name in "xqr")
    channel = await bench.open_channel()
    await channel.declare_queue(Queue(q))
    desired = (Exchange(x), Queue(q, arguments={"x-max-length": 5}), Queue(r), Binding(x, q, "k"))
    # As if the broker had been empty when it was looked at: the refusal comes from the broker.
    seen: list[StepResult] = []
    applied = await apply(plan(desired, Snapshot("/")), bench.open_channel, on_step=seen.append)
    assert states(applied.results) == [
        StepState.DONE,
        StepState.QUARANTINED,
        StepState.DONE,
        StepState.DONE,
    ]
    assert tuple(seen) == applied.results
    (refused,) = applied.quarantined
    assert "406 PRECONDITION_FAILED" in refused.detail
    assert refused.differences == (Difference("x-max-length", "5", None),)
    # Known beforehand, it is not even tried.
    applied = await apply(plan(desired, await bench.snapshot()), bench.open_channel)
    (refused,) = applied.quarantined
    assert refused.step.verdict is Verdict.NEEDS_MIGRATION
    assert refused.differences == (Difference("x-max-length", 5, None),)
    assert applied.to_dict()["summary"] == {"kept": 3, "done": 0, "quarantined": 1}


async def test_an_exchange_type_that_the_broker_has_not_is_put_aside_too(bench: Any) -> None:
    desired = (Exchange(f"{bench.prefix}.x", "x-nobody-has-this"), Queue(f"{bench.prefix}.q"))
    applied = await apply(plan(desired, Snapshot("/")), bench.open_channel)
    assert states(applied.results) == [StepState.QUARANTINED, StepState.DONE]


async def test_nothing_is_deleted_without_prune(bench: Any) -> None:
    x, q = f"{bench.prefix}.x", f"{bench.prefix}.q"
    there = (Exchange(x), Queue(q), Binding(x, q, "k"))
    await apply(plan(there, Snapshot("/")), bench.open_channel)
    pruning = plan((), await bench.snapshot(), prune=True)
    kept = await apply(pruning, bench.open_channel)
    assert states(kept.results) == [StepState.KEPT] * 3
    assert len((await bench.snapshot()).declarations) == 3
    pruned = await apply(pruning, bench.open_channel, prune=True)
    # The binding goes with the queue.
    assert states(pruned.results) == [StepState.KEPT, StepState.DONE, StepState.DONE]
    assert (await bench.snapshot()).declarations == ()


async def test_what_has_come_into_use_since_the_plan_is_kept(bench: Any) -> None:
    x, q = f"{bench.prefix}.x", f"{bench.prefix}.q"
    channel = await bench.open_channel()
    await channel.declare_exchange(Exchange(x))
    await channel.declare_queue(Queue(q))
    await channel.bind(Binding(x, q))
    pruning = plan((), await bench.snapshot(), prune=True)
    await channel.consume(q, lambda delivery: None)
    applied = await apply(pruning, bench.open_channel, prune=True)
    assert states(applied.results) == [StepState.KEPT] * 3
    assert "0 messages, 1 consumers now" in applied.results[1].detail
    assert "something is bound to it now" in applied.results[2].detail
    assert len((await bench.snapshot()).declarations) == 3
    await channel.close()


class Recorded:
    """Policies that are set nowhere."""

    def __init__(self, refusal: str = "") -> None:
        self.done: list[tuple[str, str]] = []
        self._refusal = refusal

    async def put_policy(self, policy: PolicyModel) -> None:
        if self._refusal:
            raise NotAllowed(self._refusal, 401)
        self.done.append(("put", policy.name))

    async def delete_policy(self, name: str) -> None:
        self.done.append(("delete", name))


async def no_channel() -> Channel:
    pytest.fail("a policy needs no channel")


POLICY = PolicyModel("q.policy", "^q$", ApplyTo.QUEUES, 0, {"expires": 5})
SET = Step(Verdict.POLICY_ONLY, StepAction.SET, POLICY, "")
TAKEN_BACK = Step(Verdict.POLICY_ONLY, StepAction.DELETE, POLICY, "")


async def test_policies_are_set_and_taken_back_without_a_prune() -> None:
    policies = Recorded()
    applied = await apply(Plan("/", (SET, TAKEN_BACK)), no_channel, policies=policies)
    assert states(applied.results) == [StepState.DONE] * 2
    assert policies.done == [("put", "q.policy"), ("delete", "q.policy")]


@pytest.mark.parametrize(
    ("policies", "words"),
    [(None, "over the management API"), (Recorded("this user may not"), "this user may not")],
)
async def test_a_policy_that_can_t_be_set_is_quarantined(
    policies: Recorded | None, words: str
) -> None:
    applied = await apply(Plan("/", (SET,)), no_channel, policies=policies)
    assert states(applied.results) == [StepState.QUARANTINED]
    assert words in applied.results[0].detail


async def test_what_would_be_refused_is_not_tried() -> None:
    step = Step(Verdict.REFUSED, StepAction.KEEP, Queue("q"), "no such thing here")
    applied = await apply(Plan("/", (step,)), no_channel)
    assert states(applied.results) == [StepState.QUARANTINED]
    assert applied.results[0].detail == "no such thing here"


async def test_a_wrong_password_shows_before_anything_is_done(broker: Any) -> None:
    host, _, port = broker.url.rpartition("@")[2].partition("/")[0].partition(":")
    endpoint = Endpoint(host, int(port), credentials=Credentials("guest", "sesame"))
    with pytest.raises(ConnectionRefused) as error:
        async with channels_of(NativeTransport(), endpoint, timeout_s=20):
            pytest.fail("nobody may come in")
    assert "sesame" not in str(error.value)


async def test_nobody_there_is_unreachable() -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    with pytest.raises(Unreachable):
        async with channels_of(NativeTransport(), Endpoint(port=port), timeout_s=20):
            pytest.fail("nobody may come in")


async def test_a_broker_that_never_answers_ends_at_the_deadline_with_the_step_named() -> None:
    never = asyncio.Event()

    async def open_channel() -> Channel:
        await never.wait()
        raise AssertionError

    with pytest.raises(DeadlineExceeded, match=r"0 of 1 steps were done, the next was 'q'"):
        await apply(plan([Queue("q")], Snapshot("/")), open_channel, timeout_s=0.05)
