"""Looking at a broker for ``plan``, ``diff`` and ``apply``: over its management API, or over AMQP
alone where nobody named one and none answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, NamedTuple

import typer

from mqkit.topology import (
    Applied,
    Change,
    Management,
    OpenChannel,
    Plan,
    PolicyModel,
    Snapshot,
    StepAction,
    Topology,
    Wanted,
    channels_of,
    compare,
    open_management,
    plan,
)
from mqkit.topology import apply as apply_plan
from mqkit.topology.live.over_amqp import UNSEEN, ask, changes_of, plan_of
from mqkit_cli.amqp import transport
from mqkit_cli.broker.embedded import Place
from mqkit_cli.connection import Target
from mqkit_cli.errors import CommandError
from mqkit_cli.render import note, progress

APPLY_TIMEOUT_S = 60.0

PruneOption = Annotated[
    bool,
    typer.Option("--prune", help="Delete what the file does not have, if it is empty and unused."),
]
ForceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--force",
        metavar="NAME",
        help="With --prune: delete this queue, exchange or policy, whatever is in it; repeatable.",
    ),
]


class Pruned(NamedTuple):
    """The deletions that are allowed."""

    prune: bool
    force: tuple[str, ...]


class Compared(NamedTuple):
    """A comparison, and what it could not look at."""

    vhost: str
    changes: tuple[Change, ...]
    unseen: tuple[str, ...]


def pruned(prune: bool, force: list[str] | None) -> Pruned:
    """The options as one value. Raises :exc:`CommandError` for ``--force`` without ``--prune``."""
    if force and not prune:
        raise CommandError("--force NAME is for --prune: give both, or neither")
    return Pruned(prune, tuple(force or ()))


async def planned(topology: Topology, place: Place, deletions: Pruned, timeout_s: float) -> Plan:
    """The plan for the broker at ``place``."""
    async with place.open() as target:
        snapshot = await _look(target, timeout_s)
        if snapshot is not None:
            return _plan(topology, snapshot, deletions)
        async with _channels(target, timeout_s) as open_channel:
            return await _plan_over_amqp(topology, target, open_channel, deletions)


async def compared(topology: Topology, place: Place, timeout_s: float) -> Compared:
    """The broker at ``place`` beside the file."""
    async with place.open() as target:
        snapshot = await _look(target, timeout_s)
        if snapshot is not None:
            wanted = Wanted.of(topology, snapshot.policies)
            return Compared(snapshot.vhost, compare(wanted, snapshot), snapshot.unseen)
        wanted = Wanted.of(topology)
        async with _channels(target, timeout_s) as open_channel:
            answers = await ask(wanted, open_channel, timeout_s=APPLY_TIMEOUT_S)
        return Compared(target.endpoint.vhost, changes_of(wanted, answers), UNSEEN)


async def carried_out(
    topology: Topology, place: Place, deletions: Pruned, timeout_s: float
) -> Applied:
    """The plan, and its apply."""
    async with place.open() as target, _channels(target, timeout_s) as open_channel:
        snapshot = await _look(target, timeout_s)
        if snapshot is None:
            steps = await _plan_over_amqp(topology, target, open_channel, deletions)
            return await _apply(steps, open_channel, None, deletions, timeout_s)
        steps = _plan(topology, snapshot, deletions)
        if not _sets_policies(steps):
            return await _apply(steps, open_channel, None, deletions, timeout_s)
        vhost, within_s = target.endpoint.vhost, max(timeout_s, APPLY_TIMEOUT_S)
        url = target.management_url
        async with open_management(url, vhost, timeout_s=within_s) as management:
            return await _apply(steps, open_channel, management, deletions, timeout_s)


async def _apply(
    steps: Plan,
    open_channel: OpenChannel,
    management: Management | None,
    deletions: Pruned,
    timeout_s: float,
) -> Applied:
    done = 0
    with progress("declaring", len(steps.steps)) as show:

        def count(_: object) -> None:
            nonlocal done
            done += 1
            show(done)

        return await apply_plan(
            steps,
            open_channel,
            prune=deletions.prune,
            policies=management,
            timeout_s=max(timeout_s, APPLY_TIMEOUT_S),
            on_step=count,
        )


def _plan(topology: Topology, snapshot: Snapshot, deletions: Pruned) -> Plan:
    live = (it for it in snapshot.policies if it.name not in deletions.force)
    wanted = Wanted.of(topology, live)
    return plan(wanted, snapshot, prune=deletions.prune, force=deletions.force)


async def _plan_over_amqp(
    topology: Topology, target: Target, open_channel: OpenChannel, deletions: Pruned
) -> Plan:
    if deletions.prune:
        raise CommandError(
            "--prune needs the management API: over AMQP alone nobody sees what the file does not"
            " have (say where it is with --management-url)"
        )
    wanted = Wanted.of(topology)
    answers = await ask(wanted, open_channel, timeout_s=APPLY_TIMEOUT_S)
    return plan_of(wanted, target.endpoint.vhost, answers)


async def _look(target: Target, timeout_s: float) -> Snapshot | None:
    """The broker's objects; ``None``, which is said on stderr, where nobody named a management API
    and none answers. Raises :exc:`CommandError` where the one that was named does not."""
    try:
        return await target.snapshot(timeout_s)
    except CommandError as error:
        if not target.is_derived:
            raise
        note(f"looking over AMQP alone: {error}")
        return None


@asynccontextmanager
async def _channels(target: Target, timeout_s: float) -> AsyncIterator[OpenChannel]:
    async with channels_of(transport(), target.endpoint, timeout_s=timeout_s) as open_channel:
        yield open_channel


def _sets_policies(steps: Plan) -> bool:
    return any(
        isinstance(step.declaration, PolicyModel) and step.action is not StepAction.KEEP
        for step in steps.steps
    )
