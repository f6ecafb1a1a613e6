"""Topologies, plans and differences as tables and as JSON. Pure but for the printing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.topology import Applied, Change, ChangeKind, Plan, StepState, Verdict
from mqkit.topology.diff import Difference
from mqkit.topology.plan import describe
from mqkit.topology.policy_model import PolicyModel
from mqkit_cli.render import line, plural, write_table

_KINDS: tuple[tuple[str, type[Declaration]], ...] = (
    ("exchange", Exchange),
    ("queue", Queue),
    ("binding", Binding),
)


def counted(declarations: Iterable[Declaration]) -> str:
    """``1 exchange, 5 queues, 2 bindings``."""
    found = list(declarations)
    parts = []
    for word, kind in _KINDS:
        parts.append(plural(sum(isinstance(item, kind) for item in found), word))
    return ", ".join(parts)


def show_plan(plan: Plan) -> None:
    """The steps that do something, and the sum of all."""
    rows = [
        (str(step.verdict), *_what(step.declaration), _why(step.reason, step.differences))
        for step in plan.changes
    ]
    if rows:
        write_table(("verdict", "kind", "name", "why"), rows)
    counts = ", ".join(
        f"{count} {verdict}" for verdict in Verdict if (count := plan.count(verdict))
    )
    line(f"vhost {plan.vhost}: {counts or 'nothing to declare'}")


def show_changes(changes: Sequence[Change]) -> None:
    """Print the differences, and the sum of all."""
    different = [change for change in changes if change.kind is not ChangeKind.SAME]
    rows = [
        (str(change.kind), *_what(change.declaration), "; ".join(map(str, change.differences)))
        for change in different
    ]
    if rows:
        write_table(("change", "kind", "name", "differences"), rows)
    counts = {kind: sum(change.kind is kind for change in changes) for kind in ChangeKind}
    kept = " (not in the file; kept)" if counts[ChangeKind.EXTRA] else ""
    line(", ".join(f"{count} {kind}" for kind, count in counts.items()) + kept)


def changes_json(vhost: str, changes: Sequence[Change]) -> dict[str, Any]:
    """The differences for programs; the names in the JSON are stable."""
    return {
        "vhost": vhost,
        "summary": {
            str(kind): sum(change.kind is kind for change in changes) for kind in ChangeKind
        },
        "changes": [
            {
                "change": str(change.kind),
                **describe(change.declaration),
                "differences": [difference.to_dict() for difference in change.differences],
            }
            for change in changes
        ],
    }


def declarations_json(vhost: str, declarations: Iterable[Declaration]) -> dict[str, Any]:
    """Objects as plain values."""
    return {"vhost": vhost, "objects": [describe(declaration) for declaration in declarations]}


def show_applied(applied: Applied) -> None:
    """Print what was declared and what was refused; objects that were there already are only
    counted."""
    rows = [
        (
            str(result.state),
            *_what(result.step.declaration),
            _why(result.detail, result.differences),
        )
        for result in applied.results
        if result.state is not StepState.KEPT
    ]
    if rows:
        write_table(("state", "kind", "name", "why"), rows)
    counts = ", ".join(f"{applied.count(state)} {state}" for state in StepState)
    line(f"vhost {applied.vhost}: {counts}")


def _what(declaration: Declaration | PolicyModel) -> tuple[str, str]:
    described = describe(declaration)
    return str(described["kind"]), str(described["name"])


def _why(reason: str, differences: Sequence[Difference]) -> str:
    return "; ".join((reason, *map(str, differences))) if differences else reason
