"""Plays: an action on a broker, with the probe beside it, and what that cost."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass

import httpx

from mqkit_bench.broker.contest import without_collection
from mqkit_bench.contestant import Contestant
from mqkit_bench.report import say
from mqkit_bench.stalls.action import Action, Play
from mqkit_bench.stalls.probe import ANSWER_BOUND_S, Probed, Waits, probing
from mqkit_bench.stalls.replaceable import ReplaceableBroker
from mqkit_bench.stalls.tenant import Tenant
from mqkit_bench.worker import Worker, WorkerFailed

LEAD_S = 0.1
TRAIL_S = 0.3
"""The probe goes on after the play: what a client sees as the end may not be all."""
CALM_LOOK_S = 0.2
CALM_SHARE = 0.1
"""A broker that takes less of a core has nothing left of what was before."""
CALM_TIMEOUT_S = 20.0
SLOW_PREPARATION_S = 60.0
"""An action whose preparation takes longer is played once."""
REFUSALS = (OSError, httpx.HTTPError)
"""Errors by which a broker refuses an action or does not answer it: remarks, and no failures."""
LONGEST_TURN = "longest_turn_ms"


@dataclass(frozen=True, slots=True)
class Played:
    """One play. ``core_wait_s`` is how long the broker's threads waited for a core, ``sync_ms``
    the longest fdatasync of a neighbour on the disk; what can't be seen is ``None``. Without an
    answer the waits are those up to when it was given up. ``longest_turn_ms`` is ``None`` also
    where no turn was longer than the longest one before the play."""

    transient: Waits
    persistent: Waits
    is_answered: bool
    sync_ms: float
    seconds: float
    broker_cpu_s: float | None
    core_wait_s: float | None
    longest_turn_ms: float | None
    remark: str


@dataclass(frozen=True, slots=True)
class Standing:
    """All plays of an action on a broker; none where it could not be prepared: ``why_not``
    says."""

    action: str
    what: str
    is_administrators: bool
    name: str
    scale: float
    plays: tuple[Played, ...]
    why_not: str = ""


def compete(
    broker: ReplaceableBroker, neighbour: Worker, action: Action, scale: float, plays: int
) -> Standing:
    """Play the action so often. A broker that does not answer any more has one play, and another
    one has taken its place then."""
    seen: list[Played] = []
    why_not = ""
    try:
        with probing(broker.contestant) as probe:
            while len(seen) < plays:
                tenant = Tenant(broker.contestant, scale)
                played, prepared_s = _play(tenant, probe, neighbour, action)
                seen.append(played)
                _tell(action, broker.name, played)
                if not played.is_answered:
                    broker.replace()
                    break
                tenant.close()
                if prepared_s > SLOW_PREPARATION_S:
                    break
    except (*REFUSALS, WorkerFailed) as why:
        why_not = f"{'not taken down' if seen else 'not played'}: {type(why).__name__}: {why}"
        say(f"{action.name}: {broker.name}: {why_not}")
        broker.replace()
    return Standing(
        action.name,
        action.what,
        action.is_administrators,
        broker.name,
        scale,
        tuple(seen),
        why_not,
    )


def _play(tenant: Tenant, probe: Worker, neighbour: Worker, action: Action) -> tuple[Played, float]:
    """One play, and the seconds of its preparation. The caller closes the tenant; where this
    raises, or the broker does not answer any more, its connections are closed here."""
    played = None
    try:
        began = time.perf_counter()
        play = action.prepare(tenant)
        prepared_s = time.perf_counter() - began
        await_calm(tenant.contestant)
        with without_collection():
            played = _measure(tenant.contestant, probe, neighbour, play)
    finally:
        if played is None or not played.is_answered:
            tenant.hang_up()
    return played, prepared_s


def _measure(contestant: Contestant, probe: Worker, neighbour: Worker, play: Play) -> Played:
    seen = bool(contestant.pid)
    cpu_s, core_wait_s = (
        contestant.cpu_s() if seen else 0.0,
        contestant.core_wait_s() if seen else 0.0,
    )
    turn_before_ms = longest_turn_ms(contestant)
    for worker in (neighbour, probe):
        worker.tell("begin")
    time.sleep(LEAD_S)
    began = time.perf_counter()
    try:
        remark = play()
    except REFUSALS as why:
        remark = f"{type(why).__name__}: {why}"
    seconds = time.perf_counter() - began
    time.sleep(TRAIL_S)
    for worker in (probe, neighbour):
        worker.tell("end")
    probed: Probed = probe.report(2 * ANSWER_BOUND_S)
    turn_ms = longest_turn_ms(contestant) if probed.is_answered else None
    return Played(
        transient=probed.transient,
        persistent=probed.persistent,
        is_answered=probed.is_answered,
        sync_ms=1000 * neighbour.report()[-1],
        seconds=seconds,
        broker_cpu_s=contestant.cpu_s() - cpu_s if seen else None,
        core_wait_s=contestant.core_wait_s() - core_wait_s if seen else None,
        longest_turn_ms=turn_ms if turn_ms != turn_before_ms else None,
        remark=remark,
    )


def await_calm(contestant: Contestant) -> bool:
    """Wait until the broker has nothing to do; false when it still has after a while."""
    if not contestant.pid:
        return True
    until = time.monotonic() + CALM_TIMEOUT_S
    while time.monotonic() < until:
        before = contestant.cpu_s()
        time.sleep(CALM_LOOK_S)
        if contestant.cpu_s() - before <= CALM_SHARE * CALM_LOOK_S:
            return True
    return False


def longest_turn_ms(contestant: Contestant) -> float | None:
    """The longest turn of the broker's loop since its start, where its API has it."""
    address = contestant.address
    with suppress(httpx.HTTPError, ValueError):
        answer = httpx.get(
            f"{contestant.management_url}/api/nodes",
            auth=(address.username, address.password),
            timeout=ANSWER_BOUND_S,
            trust_env=False,
        )
        found = [node.get(LONGEST_TURN) for node in answer.json()]
        return None if None in found else max(map(float, found))
    return None


def _tell(action: Action, name: str, played: Played) -> None:
    cpu_s = played.broker_cpu_s
    cost = "" if cpu_s is None else f", {cpu_s:.2f} s of broker CPU"
    remark = f" ({played.remark})" if played.remark else ""
    say(
        f"{action.name}: {name}: others wait {played.transient.longest_ms:,.0f} ms"
        f" (p99 {played.transient.p99_ms:.1f}), persistent {played.persistent.longest_ms:,.0f} ms"
        f"{'' if played.is_answered else ', and no answer any more'};"
        f" {played.seconds:.2f} s{cost}{remark}"
    )
