"""The plan of an apply: its steps, with a verdict and reasons for each. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.topology.diff import Change, ChangeKind, Difference, diff
from mqkit.topology.retrying.per_message_ttl import hint

if TYPE_CHECKING:
    from mqkit.topology.snapshot import LiveQueue, Snapshot


DIFFERENT = "it is there with other properties, which a broker never changes in place"


class Verdict(StrEnum):
    """The danger of a step."""

    NO_OP = "no-op"
    """Nothing is done."""
    ADDITIVE = "additive"
    """Something new is declared; nothing that is there changes."""
    NEEDS_MIGRATION = "needs-migration"
    """The broker can't change it in place; an apply leaves it as it is, and says so."""
    DESTRUCTIVE = "destructive"
    """Something is deleted; only with ``prune``."""


class StepAction(StrEnum):
    """The action of an apply at a step."""

    KEEP = "keep"
    CREATE = "create"
    MIGRATE = "migrate"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Step:
    """One object of the plan. ``messages`` and ``consumers`` are what hangs on it: what a deletion
    or a migration by deletion would lose; ``None`` where the broker has not said."""

    verdict: Verdict
    action: StepAction
    declaration: Declaration
    reason: str
    differences: tuple[Difference, ...] = ()
    messages: int | None = None
    consumers: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The step as plain values, for ``--json``."""
        return {
            "verdict": str(self.verdict),
            "action": str(self.action),
            **describe(self.declaration),
            "reason": self.reason,
            "differences": [difference.to_dict() for difference in self.differences],
            "messages": self.messages,
            "consumers": self.consumers,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps in the order of an apply: exchanges, queues, bindings; then deletions, reversed."""

    vhost: str
    steps: tuple[Step, ...]

    @property
    def changes(self) -> tuple[Step, ...]:
        """The steps that do something, or that something has to be done about."""
        return tuple(step for step in self.steps if step.verdict is not Verdict.NO_OP)

    def count(self, verdict: Verdict) -> int:
        """The number of steps with ``verdict``."""
        return sum(step.verdict is verdict for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, for ``--json``; the names in it are stable."""
        return {
            "vhost": self.vhost,
            "summary": {str(verdict): self.count(verdict) for verdict in Verdict},
            "steps": [step.to_dict() for step in self.steps],
        }


def plan(desired: Sequence[Declaration], actual: Snapshot, *, prune: bool = False) -> Plan:
    """The steps from ``actual`` to ``desired``.

    Objects that the file does not name are kept, and said to be; with ``prune`` they are deleted.
    The same input gives an equal plan.
    """
    changes = diff(desired, actual)
    live = {entry.queue.name: entry for entry in actual.queues}
    exchanges = {item.name for item in (*desired, *actual.exchanges) if isinstance(item, Exchange)}
    wanted = [_step(change, live, exchanges) for change in changes if not _is_extra(change)]
    extras = [_extra(change, live, prune=prune) for change in changes if _is_extra(change)]
    return Plan(actual.vhost, (*wanted, *_unmake_order(extras)))


def describe(declaration: Declaration) -> dict[str, Any]:
    """A declaration as plain values: ``kind``, ``name``, and its properties."""
    properties: tuple[str, ...]
    match declaration:
        case Exchange():
            properties = ("type", "durable", "auto_delete", "internal")
            kind = "exchange"
        case Queue():
            properties = ("durable", "exclusive", "auto_delete")
            kind = "queue"
        case Binding():
            properties = ("source", "destination", "key", "to_exchange")
            kind = "binding"
    return {
        "kind": kind,
        "name": name_of(declaration),
        **{name: getattr(declaration, name) for name in properties},
        "arguments": dict(declaration.arguments),
    }


def name_of(declaration: Declaration) -> str:
    """The object's name; for a binding ``source -> destination [key] {arguments}``."""
    if isinstance(declaration, Binding):
        key = f" [{declaration.key}]" if declaration.key else ""
        pairs = ", ".join(f"{name}: {value}" for name, value in declaration.arguments.items())
        arguments = f" {{{pairs}}}" if pairs else ""
        return f"{declaration.source} -> {declaration.destination}{key}{arguments}"
    return declaration.name


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


def _extra(change: Change, live: dict[str, LiveQueue], *, prune: bool) -> Step:
    messages, consumers = _load(change.declaration, live)
    if not prune:
        reason = "it is not in the file; kept"
        return Step(
            Verdict.NO_OP, StepAction.KEEP, change.declaration, reason, (), messages, consumers
        )
    return Step(
        Verdict.DESTRUCTIVE,
        StepAction.DELETE,
        change.declaration,
        "it is not in the file",
        (),
        messages,
        consumers,
    )


def _load(declaration: Declaration, live: dict[str, LiveQueue]) -> tuple[int | None, int | None]:
    entry = live.get(declaration.name) if isinstance(declaration, Queue) else None
    return (None, None) if entry is None else (entry.messages, entry.consumers)


def _unmake_order(steps: Sequence[Step]) -> Iterator[Step]:
    """Bindings, then queues, then exchanges: nothing is deleted while something hangs on it."""
    for kind in (Binding, Queue, Exchange):
        yield from (step for step in steps if isinstance(step.declaration, kind))


def _is_extra(change: Change) -> bool:
    return change.kind is ChangeKind.EXTRA
