"""Carrying out a plan over the transport seam, step by step; a refused step does not stop the
others.

Nothing is deleted unless ``prune`` is given to the apply too, whatever the plan says, but for a
policy of a queue's own that the file has taken back. What is in use at that moment is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from mqkit.declaration import Declaration
from mqkit.errors import ChannelError, ConnectionRefused, DeadlineExceeded
from mqkit.topology.live.management import NotAllowed
from mqkit.topology.planning.deletion import delete
from mqkit.topology.planning.diff import Difference
from mqkit.topology.planning.plan import Plan
from mqkit.topology.planning.quarantine import DECLARATION_REFUSED, Quarantined
from mqkit.topology.planning.step import Step, StepAction, Verdict, name_of
from mqkit.topology.policy.policy_model import PolicyModel
from mqkit.topology.throwaway import OpenChannel, ThrowAwayChannel


class PolicySetter(Protocol):
    """Sets and removes policies; :class:`~mqkit.topology.live.management.Management` does.

    Both raise :exc:`~mqkit.topology.live.management.NotAllowed` where the broker refuses.
    """

    async def put_policy(self, policy: PolicyModel) -> None:
        """Set ``policy``, in place of the one of its name."""
        ...

    async def delete_policy(self, name: str) -> None:
        """Remove the policy of that name, if there is one."""
        ...


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
    policies: PolicySetter | None = None,
    timeout_s: float = 60.0,
    on_step: Callable[[StepResult], None] | None = None,
) -> Applied:
    """Do what ``plan`` says, in its order. Idempotent: a second apply finds everything done.

    ``policies`` sets policies, which AMQP can't: an open
    :class:`~mqkit.topology.live.management.Management`; without it they are quarantined.

    A refusal of the broker is a result (``quarantined``); a broken connection is raised. Raises
    :exc:`~mqkit.errors.DeadlineExceeded` after ``timeout_s`` seconds, naming the step.
    """
    results: list[StepResult] = []
    current = "the first channel"
    try:
        async with asyncio.timeout(timeout_s), ThrowAwayChannel(open_channel) as channel:
            for step in plan.steps:
                current = name_of(step.declaration)
                result = await _perform(step, channel, policies, prune=prune)
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


async def _perform(
    step: Step, channel: ThrowAwayChannel, policies: PolicySetter | None, *, prune: bool
) -> StepResult:
    if step.action in (StepAction.DELETE, StepAction.FORCE_DELETE):
        if step.verdict is Verdict.DESTRUCTIVE and not prune:
            return StepResult(step, StepState.KEPT, "deletions are not allowed without prune")
    elif step.action is StepAction.MIGRATE:
        # Declaring it would only be refused with 406: the differences are known already.
        return StepResult(step, StepState.QUARANTINED, step.reason, step.differences)
    elif step.action is StepAction.KEEP:
        is_kept = step.verdict is Verdict.NO_OP
        return StepResult(step, StepState.KEPT if is_kept else StepState.QUARANTINED, step.reason)
    if isinstance(step.declaration, PolicyModel):
        return await _set_policy(step, step.declaration, policies)
    return await _declare(step, step.declaration, channel)


async def _declare(step: Step, declaration: Declaration, channel: ThrowAwayChannel) -> StepResult:
    await channel.ready()
    try:
        if step.action is StepAction.CREATE:
            await channel.declare(declaration)
            return StepResult(step, StepState.DONE)
        forced = step.action is StepAction.FORCE_DELETE
        deletion = await delete(declaration, channel, forced=forced)
    except ChannelError as error:
        return _refused(step, Quarantined.of(declaration, error))
    except ConnectionRefused as error:
        foretold = step.verdict is Verdict.REFUSED
        if error.reply_code not in DECLARATION_REFUSED and not foretold:
            raise
        return _refused(step, Quarantined.of(declaration, error))
    state = StepState.DONE if deletion.is_done else StepState.KEPT
    return StepResult(step, state, deletion.words)


async def _set_policy(step: Step, policy: PolicyModel, policies: PolicySetter | None) -> StepResult:
    if policies is None:
        detail = "a policy is set over the management API, which was not given"
        return StepResult(step, StepState.QUARANTINED, detail, step.differences)
    try:
        if step.action is StepAction.SET:
            await policies.put_policy(policy)
        else:
            await policies.delete_policy(policy.name)
    except NotAllowed as refusal:
        return StepResult(step, StepState.QUARANTINED, str(refusal), step.differences)
    return StepResult(step, StepState.DONE, step.reason)


def _refused(step: Step, quarantined: Quarantined) -> StepResult:
    hint = quarantined.hint and f"; {quarantined.hint}"
    detail = f"the broker refused it: {quarantined.error}{hint}"
    return StepResult(step, StepState.QUARANTINED, detail, quarantined.differences)
