"""Carrying out a plan over the transport seam, step by step; a refused step does not stop the
others.

Nothing is deleted unless ``prune`` is given to the apply too, whatever the plan says. A deletion
asks the broker to refuse if a consumer or a binding still hangs on the object.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.errors import ChannelError, ConnectionRefused, DeadlineExceeded
from mqkit.topology.diff import Difference
from mqkit.topology.plan import Plan, Step, StepAction, name_of
from mqkit.topology.quarantine import DECLARATION_REFUSED, Quarantined
from mqkit.topology.throwaway import OpenChannel, ThrowAwayChannel
from mqkit.transport.seam import Channel


class StepState(StrEnum):
    """The results that a step can have."""

    KEPT = "kept"
    """Nothing was to be done, or a deletion was not allowed."""
    DONE = "done"
    QUARANTINED = "quarantined"
    """The object is not as wanted, and stays as it is; ``detail`` and ``differences`` say why."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """A step, and what became of it."""

    step: Step
    state: StepState
    detail: str = ""
    differences: tuple[Difference, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The step as plain values, for ``--json``."""
        return {
            **self.step.to_dict(),
            "state": str(self.state),
            "detail": self.detail,
            "differences": [difference.to_dict() for difference in self.differences],
        }


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of an apply, step by step."""

    vhost: str
    results: tuple[StepResult, ...]

    @property
    def quarantined(self) -> tuple[StepResult, ...]:
        """The steps after which the broker is not as the file wants it."""
        return tuple(item for item in self.results if item.state is StepState.QUARANTINED)

    def count(self, state: StepState) -> int:
        """The number of steps in ``state``."""
        return sum(item.state is state for item in self.results)

    def to_dict(self) -> dict[str, Any]:
        """All steps as plain values, for ``--json``; the names in it are stable."""
        return {
            "vhost": self.vhost,
            "summary": {str(state): self.count(state) for state in StepState},
            "steps": [item.to_dict() for item in self.results],
        }


async def apply(
    plan: Plan,
    open_channel: OpenChannel,
    *,
    prune: bool = False,
    timeout_s: float = 60.0,
    on_step: Callable[[StepResult], None] | None = None,
) -> Applied:
    """Do what ``plan`` says, in its order. Idempotent: a second apply finds everything done.

    A refusal of the broker is a result (``quarantined``); a broken connection is raised. Raises
    :exc:`~mqkit.errors.DeadlineExceeded` after ``timeout_s`` seconds, naming the step.
    """
    results: list[StepResult] = []
    current = "the first channel"
    try:
        async with asyncio.timeout(timeout_s), ThrowAwayChannel(open_channel) as channel:
            for step in plan.steps:
                current = name_of(step.declaration)
                result = await _perform(step, channel, prune=prune)
                results.append(result)
                if on_step is not None:
                    on_step(result)
    except TimeoutError as error:
        if isinstance(error, DeadlineExceeded):
            raise
        raise DeadlineExceeded(
            f"waited {timeout_s:g} s; {len(results)} of {len(plan.steps)} steps were done, the next"
            f" was {current!r}"
        ) from None
    return Applied(plan.vhost, tuple(results))


async def _perform(step: Step, channel: ThrowAwayChannel, *, prune: bool) -> StepResult:
    match step.action:
        case StepAction.KEEP:
            return StepResult(step, StepState.KEPT, step.reason)
        case StepAction.MIGRATE:
            # Declaring it would only be refused with 406: the differences are known already.
            return StepResult(step, StepState.QUARANTINED, step.reason, step.differences)
        case StepAction.DELETE if not prune:
            return StepResult(step, StepState.KEPT, "deletions are not allowed without prune")
    await channel.ready()
    try:
        if step.action is StepAction.DELETE:
            return StepResult(step, StepState.DONE, await _delete(step.declaration, channel))
        await channel.declare(step.declaration)
    except ChannelError as error:
        return _refused(step, Quarantined.of(step.declaration, error))
    except ConnectionRefused as error:
        if error.reply_code not in DECLARATION_REFUSED:
            raise
        return _refused(step, Quarantined.of(step.declaration, error))
    return StepResult(step, StepState.DONE)


def _refused(step: Step, quarantined: Quarantined) -> StepResult:
    hint = quarantined.hint and f"; {quarantined.hint}"
    detail = f"the broker refused it: {quarantined.error}{hint}"
    return StepResult(step, StepState.QUARANTINED, detail, quarantined.differences)


async def _delete(declaration: Declaration, channel: ThrowAwayChannel) -> str:
    async def act(on: Channel) -> str:
        match declaration:
            case Binding():
                await on.unbind(declaration)
                return "unbound"
            case Queue(name=name):
                return f"deleted with {await on.delete_queue(name, if_unused=True)} messages"
            case Exchange(name=name):
                await on.delete_exchange(name, if_unused=True)
                return "deleted"

    return await channel.run(act)
