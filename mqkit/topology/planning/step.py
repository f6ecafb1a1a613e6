"""One step of a plan: an object, what is done about it, and the danger of that."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.topology.planning.diff import Difference
from mqkit.topology.policy.policy_model import PolicyModel


class Verdict(StrEnum):
    """The danger of a step."""

    NO_OP = "no-op"
    """Nothing is done."""
    ADDITIVE = "additive"
    """Something new is declared; nothing that is there changes."""
    NEEDS_MIGRATION = "needs-migration"
    """The broker can't change it in place; an apply leaves it as it is, and says so."""
    POLICY_ONLY = "policy-only"
    """A policy is set or removed, in place, over the management API; nothing is declared."""
    REFUSED = "refused"
    """This product and version would refuse it; an apply does not try."""
    DESTRUCTIVE = "destructive"
    """Something is deleted; only with ``prune``."""


class StepAction(StrEnum):
    """The action of an apply at a step."""

    KEEP = "keep"
    CREATE = "create"
    MIGRATE = "migrate"
    SET = "set"
    DELETE = "delete"
    """If it is empty and unused at that moment."""
    FORCE_DELETE = "force-delete"
    """Whatever is in it, or uses it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One object of the plan. ``messages`` and ``consumers`` are what hangs on it: what a deletion
    or a migration by deletion would lose; ``None`` where the broker has not said. ``remarks`` are
    sentences about what will be otherwise than the file says, though nothing can be done here."""

    verdict: Verdict
    action: StepAction
    declaration: Declaration | PolicyModel
    reason: str
    differences: tuple[Difference, ...] = ()
    messages: int | None = None
    consumers: int | None = None
    remarks: tuple[str, ...] = ()

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
            "remarks": list(self.remarks),
        }


def describe(declaration: Declaration | PolicyModel) -> dict[str, Any]:
    """A declaration as plain values: ``kind``, ``name``, and its properties."""
    if isinstance(declaration, PolicyModel):
        return {
            "kind": "policy",
            "name": declaration.name,
            "pattern": declaration.pattern,
            "apply_to": str(declaration.apply_to),
            "priority": declaration.priority,
            "definition": dict(declaration.definition),
        }
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


def name_of(declaration: Declaration | PolicyModel) -> str:
    """The object's name; for a binding ``source -> destination [key] {arguments}``, its arguments
    in the order of their names, for brokers give them in one of their own."""
    if isinstance(declaration, Binding):
        key = f" [{declaration.key}]" if declaration.key else ""
        pairs = ", ".join(
            f"{name}: {value}" for name, value in sorted(declaration.arguments.items())
        )
        arguments = f" {{{pairs}}}" if pairs else ""
        return f"{declaration.source} -> {declaration.destination}{key}{arguments}"
    return declaration.name
