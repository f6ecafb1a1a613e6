"""The plan of an apply: its steps, with a verdict and reasons for each. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.topology.live.product_rules import with_product_rules
from mqkit.topology.planning.diff import Change, ChangeKind, diff
from mqkit.topology.planning.pruning import Pruning
from mqkit.topology.planning.step import Step as Step
from mqkit.topology.planning.step import StepAction as StepAction
from mqkit.topology.planning.step import Verdict as Verdict
from mqkit.topology.planning.step import describe as describe
from mqkit.topology.planning.step import name_of as name_of
from mqkit.topology.planning.wanted import Wanted
from mqkit.topology.policy.planning import policy_steps, with_remarks
from mqkit.topology.retrying.per_message_ttl import hint

if TYPE_CHECKING:
    from mqkit.topology.policy.policy_model import PolicyModel
    from mqkit.topology.snapshot import LiveQueue, Snapshot


DIFFERENT = "it is there with other properties, which a broker never changes in place"


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps in the order of an apply: exchanges, queues, policies, bindings; then deletions,
    reversed.

    ``unseen`` says, in words, what the plan could not look at.
    """

    vhost: str
    steps: tuple[Step, ...]
    unseen: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[Step, ...]:
        """The steps that do something, or that something has to be done about."""
        return tuple(step for step in self.steps if step.verdict is not Verdict.NO_OP)

    @property
    def remarked(self) -> tuple[Step, ...]:
        """The steps that do nothing, and have remarks."""
        return tuple(it for it in self.steps if it.verdict is Verdict.NO_OP and it.remarks)

    def count(self, verdict: Verdict) -> int:
        """The number of steps with ``verdict``."""
        return sum(step.verdict is verdict for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, for ``--json``; the names in it are stable."""
        return {
            "vhost": self.vhost,
            "summary": {str(verdict): self.count(verdict) for verdict in Verdict},
            "unseen": list(self.unseen),
            "steps": [step.to_dict() for step in self.steps],
        }


def plan(
    desired: Sequence[Declaration] | Wanted,
    actual: Snapshot,
    *,
    prune: bool = False,
    force: Collection[str] = (),
) -> Plan:
    """The steps from ``actual`` to ``desired``.

    Objects that the file does not name are kept, and said to be; with ``prune`` they are deleted
    if they are empty and unused, and those named in ``force`` in any case. Policies are looked at
    where ``desired`` is a :class:`~mqkit.topology.planning.wanted.Wanted`. The same input gives an
    equal plan. Raises :exc:`~mqkit.errors.ConfigurationError` for a name in ``force`` that is
    nothing to delete.
    """
    wanted = desired if isinstance(desired, Wanted) else Wanted(tuple(desired))
    pruning = Pruning(wanted, actual, force) if prune else None
    changes = diff(wanted.declarations, actual)
    live = {entry.queue.name: entry for entry in actual.queues}
    exchanges = {
        it.name for it in (*wanted.declarations, *actual.exchanges) if isinstance(it, Exchange)
    }
    steps = [_step(change, live, exchanges) for change in changes if not _is_extra(change)]
    extras = [_extra(change, live, pruning) for change in changes if _is_extra(change)]
    steps = with_product_rules(steps, actual.product)
    if not isinstance(desired, Wanted):
        return Plan(actual.vhost, (*steps, *_unmake_order(extras)))
    in_place, gone = policy_steps(wanted, actual, pruning)
    in_place = with_product_rules(in_place, actual.product)
    return Plan(
        actual.vhost,
        (
            *_make_order(with_remarks(steps, wanted, actual), in_place),
            *_unmake_order(extras),
            *gone,
        ),
        actual.unseen,
    )


def _step(change: Change, live: dict[str, LiveQueue], exchanges: set[str]) -> Step:
    declaration = change.declaration
    messages, consumers = _load(declaration, live)
    match change.kind:
        case ChangeKind.SAME:
            reason = "it is there already, and the same"
            return Step(Verdict.NO_OP, StepAction.KEEP, declaration, reason)
        case ChangeKind.DIFFERENT:
            return Step(
                Verdict.NEEDS_MIGRATION,
                StepAction.MIGRATE,
                declaration,
                f"{DIFFERENT}{_hint(change)}",
                change.differences,
                messages,
                consumers,
            )
        case _:
            reason = "it is not there"
            if isinstance(declaration, Binding) and not _has_source(declaration, exchanges):
                reason += f"; nor is the exchange {declaration.source!r}: the broker will refuse it"
            return Step(Verdict.ADDITIVE, StepAction.CREATE, declaration, reason)


def _hint(change: Change) -> str:
    found = hint(change.declaration, {it.field: it.actual for it in change.differences})
    return found and f"; {found}"


def _has_source(binding: Binding, exchanges: set[str]) -> bool:
    return binding.source in exchanges or binding.source.startswith("amq.")


def _extra(change: Change, live: dict[str, LiveQueue], pruning: Pruning | None) -> Step:
    messages, consumers = _load(change.declaration, live)
    kept = Step(
        *(Verdict.NO_OP, StepAction.KEEP, change.declaration, "it is not in the file; kept"),
        messages=messages,
        consumers=consumers,
    )
    if pruning is None:
        return kept
    judged = pruning.of(change.declaration)
    if not judged.goes:
        return replace(kept, reason=judged.reason)
    action = StepAction.FORCE_DELETE if judged.forced else StepAction.DELETE
    return replace(kept, verdict=Verdict.DESTRUCTIVE, action=action, reason=judged.reason)


def _load(
    declaration: Declaration | PolicyModel, live: dict[str, LiveQueue]
) -> tuple[int | None, int | None]:
    entry = live.get(declaration.name) if isinstance(declaration, Queue) else None
    return (None, None) if entry is None else (entry.messages, entry.consumers)


def _make_order(steps: Sequence[Step], policies: Sequence[Step]) -> Iterator[Step]:
    """Policies before bindings: no message comes to a queue before its limits do. And after queues:
    a policy may dead-letter to one of them."""
    yield from (step for step in steps if not isinstance(step.declaration, Binding))
    yield from policies
    yield from (step for step in steps if isinstance(step.declaration, Binding))


def _unmake_order(steps: Sequence[Step]) -> Iterator[Step]:
    """Bindings, then queues, then exchanges: nothing is deleted while something hangs on it."""
    for kind in (Binding, Queue, Exchange):
        yield from (step for step in steps if isinstance(step.declaration, kind))


def _is_extra(change: Change) -> bool:
    return change.kind is ChangeKind.EXTRA
