"""A broker of which only AMQP is reached, compared with a file object by object.

A passive declare says whether an object is there; then an equal declare, which creates nothing
then, says whether it is the same: a 406 names the first difference. (An object that is deleted
between the two is declared by that; and to a queue that expires, it is a use.) Bindings and
policies can't be asked about, nor what the broker has besides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mqkit.declaration import Binding, Declaration, Exchange, Queue, QueueState
from mqkit.errors import BrokerError, ChannelError, ConnectionRefused, DeadlineExceeded
from mqkit.topology.planning.diff import Change, ChangeKind, Difference
from mqkit.topology.planning.plan import Plan
from mqkit.topology.planning.quarantine import DECLARATION_REFUSED, differences_in
from mqkit.topology.planning.step import Step, StepAction, Verdict, name_of
from mqkit.topology.planning.wanted import Wanted
from mqkit.topology.throwaway import OpenChannel, ThrowAwayChannel

NOT_FOUND = 404
PRECONDITION_FAILED = 406

UNSEEN = (
    "bindings: an apply binds them again, which changes nothing where they are there",
    "policies and operator policies: they are set over the management API",
    "what the broker has and the file has not",
    "differences of an object after the first",
)
"""The limits of AMQP, as a plan tells them."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The broker's answer about one object. ``refusal`` is its error where that tells neither that
    the object is missing nor how it differs; ``state`` the counts of a queue."""

    kind: ChangeKind
    declaration: Declaration
    differences: tuple[Difference, ...] = ()
    state: QueueState | None = None
    refusal: BrokerError | None = None

    @property
    def change(self) -> Change:
        """The answer as one object of a comparison."""
        if self.refusal is None:
            return Change(self.kind, self.declaration, self.differences)
        refused = Difference("declaration", "accepted", f"refused: {self.refusal}")
        return Change(self.kind, self.declaration, (refused,))


async def ask(
    wanted: Wanted, open_channel: OpenChannel, *, timeout_s: float = 60.0
) -> tuple[Answer, ...]:
    """The broker's answers about everything that the file declares, in its order.

    Raises :exc:`~mqkit.errors.DeadlineExceeded` after ``timeout_s`` seconds.
    """
    answers: list[Answer] = []
    try:
        async with asyncio.timeout(timeout_s), ThrowAwayChannel(open_channel) as channel:
            for declaration in wanted.declarations:
                answers.append(await _ask(declaration, channel))  # noqa: PERF401 - counted below
    except TimeoutError as error:
        if isinstance(error, DeadlineExceeded):
            raise
        count = len(wanted.declarations)
        message = f"waited {timeout_s:g} s; {len(answers)} of {count} objects were asked about"
        raise DeadlineExceeded(message) from None
    return tuple(answers)


def changes_of(wanted: Wanted, answers: Iterable[Answer]) -> tuple[Change, ...]:
    """The answers as a comparison; policies are unseen."""
    return (
        *(answer.change for answer in answers),
        *(Change(ChangeKind.UNSEEN, policy) for policy in wanted.policies),
    )


def plan_of(wanted: Wanted, vhost: str, answers: Sequence[Answer]) -> Plan:
    """The plan of an apply that has AMQP alone. A policy of the file is a step that such an apply
    can't do."""
    policies = (
        Step(
            *(Verdict.POLICY_ONLY, StepAction.SET, policy),
            "it can't be seen or set over AMQP alone: give the management URL",
        )
        for policy in wanted.policies
    )
    return Plan(vhost, (*map(_step, answers), *policies), UNSEEN)


def _step(answer: Answer) -> Step:
    declaration, state = answer.declaration, answer.state
    if answer.refusal is not None:
        reason = f"the broker answers: {answer.refusal}"
        return Step(Verdict.REFUSED, StepAction.KEEP, declaration, reason)
    match answer.kind:
        case ChangeKind.UNSEEN:
            reason = "a binding can't be seen over AMQP alone: an apply binds it again"
            return Step(Verdict.NO_OP, StepAction.CREATE, declaration, reason)
        case ChangeKind.MISSING:
            return Step(Verdict.ADDITIVE, StepAction.CREATE, declaration, "it is not there")
        case ChangeKind.DIFFERENT:
            return Step(
                *(Verdict.NEEDS_MIGRATION, StepAction.MIGRATE, declaration),
                "it is there with other properties, which a broker never changes in place",
                answer.differences,
                None if state is None else state.message_count,
                None if state is None else state.consumer_count,
            )
        case _:
            reason = "it is there already, and the same"
            return Step(Verdict.NO_OP, StepAction.KEEP, declaration, reason)


async def _ask(declaration: Declaration, channel: ThrowAwayChannel) -> Answer:
    if isinstance(declaration, Binding):
        return Answer(ChangeKind.UNSEEN, declaration)
    state: QueueState | None = None
    try:
        state = await _passive(declaration, channel)
        await channel.declare(declaration)
    except ChannelError as error:
        if error.reply_code == NOT_FOUND:
            return Answer(ChangeKind.MISSING, declaration)
        if error.reply_code == PRECONDITION_FAILED:
            found = differences_in(error.reply_text) or (
                Difference(name_of(declaration), "as the file says", error.reply_text),
            )
            return Answer(ChangeKind.DIFFERENT, declaration, found, state)
        return Answer(ChangeKind.DIFFERENT, declaration, state=state, refusal=error)
    except ConnectionRefused as error:
        if error.reply_code not in DECLARATION_REFUSED:
            raise
        return Answer(ChangeKind.DIFFERENT, declaration, state=state, refusal=error)
    return Answer(ChangeKind.SAME, declaration, state=state)


async def _passive(declaration: Exchange | Queue, channel: ThrowAwayChannel) -> QueueState | None:
    """The counts of a queue that is there. Raises :exc:`~mqkit.errors.ChannelError` 404."""
    if isinstance(declaration, Queue):
        return await channel.run(lambda on: on.declare_queue(declaration, passive=True))
    await channel.run(lambda on: on.declare_exchange(declaration, passive=True))
    return None
