"""Topologies, plans and differences as tables and as JSON. Pure but for the printing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.topology import (
    Applied,
    Change,
    ChangeKind,
    Fault,
    Plan,
    Snapshot,
    StepState,
    Verdict,
)
from mqkit.topology.planning.diff import Difference
from mqkit.topology.planning.plan import describe
from mqkit.topology.policy.policy_model import PolicyModel
from mqkit_cli.render import line, plural, write_table

_KINDS: tuple[tuple[str, type[Declaration | PolicyModel]], ...] = (
    ("exchange", Exchange),
    ("queue", Queue),
    ("binding", Binding),
    ("policy", PolicyModel),
)


def counted(declarations: Iterable[Declaration | PolicyModel]) -> str:
    """``1 exchange, 5 queues, 2 bindings``, and policies where there are any."""
    found = list(declarations)
    counts = {word: sum(isinstance(item, kind) for item in found) for word, kind in _KINDS}
    policies = counts.pop("policy")
    said = [plural(count, word) for word, count in counts.items()]
    if policies:
        said.append("1 policy" if policies == 1 else f"{policies} policies")
    return ", ".join(said)


def faults_json(file: str, files: Sequence[Path], faults: Sequence[Fault]) -> dict[str, Any]:
    """The faults of a topology's files for programs; the names in the JSON are stable."""
    return {
        "file": file,
        "files": [str(path) for path in files],
        "valid": not faults,
        "faults": [
            {
                "file": fault.file or file,
                "line": fault.line,
                "path": fault.path,
                "message": fault.message,
            }
            for fault in faults
        ],
    }


def show_plan(plan: Plan) -> None:
    """The steps that do something, those with remarks, what could not be seen, and the sum."""
    rows = [
        (
            str(step.verdict),
            *_what(step.declaration),
            _why(step.reason, (*step.differences, *step.remarks)),
        )
        for step in (*plan.changes, *plan.remarked)
    ]
    if rows:
        write_table(("verdict", "kind", "name", "why"), rows)
    show_unseen(plan.unseen)
    counts = ", ".join(
        f"{count} {verdict}" for verdict in Verdict if (count := plan.count(verdict))
    )
    line(f"vhost {plan.vhost}: {counts or 'nothing to declare'}")


def show_unseen(unseen: Iterable[str]) -> None:
    """Print what could not be looked at."""
    for what in unseen:
        line(f"not seen: {what}")


def show_changes(changes: Sequence[Change], unseen: Iterable[str] = ()) -> None:
    """Print the differences, what could not be seen, and the sum of all."""
    alike = (ChangeKind.SAME, ChangeKind.UNSEEN)
    different = [change for change in changes if change.kind not in alike]
    rows = [
        (str(change.kind), *_what(change.declaration), "; ".join(map(str, change.differences)))
        for change in different
    ]
    if rows:
        write_table(("change", "kind", "name", "differences"), rows)
    show_unseen(unseen)
    counts = {kind: sum(change.kind is kind for change in changes) for kind in ChangeKind}
    if not counts[ChangeKind.UNSEEN]:
        del counts[ChangeKind.UNSEEN]
    kept = " (not in the file; kept)" if counts[ChangeKind.EXTRA] else ""
    line(", ".join(f"{count} {kind}" for kind, count in counts.items()) + kept)


def changes_json(
    vhost: str, changes: Sequence[Change], unseen: Iterable[str] = ()
) -> dict[str, Any]:
    """The differences for programs; the names in the JSON are stable."""
    return {
        "vhost": vhost,
        "summary": {
            str(kind): sum(change.kind is kind for change in changes) for kind in ChangeKind
        },
        "unseen": list(unseen),
        "changes": [
            {
                "change": str(change.kind),
                **describe(change.declaration),
                "differences": [difference.to_dict() for difference in change.differences],
            }
            for change in changes
        ],
    }


def snapshot_json(snapshot: Snapshot) -> dict[str, Any]:
    """Objects as plain values."""
    return {
        "vhost": snapshot.vhost,
        "unseen": list(snapshot.unseen),
        "objects": [describe(it) for it in (*snapshot.declarations, *snapshot.policies)],
        "operator_policies": [describe(policy) for policy in snapshot.operator_policies],
    }


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


def _why(reason: str, differences: Sequence[Difference | str]) -> str:
    return "; ".join((reason, *map(str, differences))) if differences else reason
