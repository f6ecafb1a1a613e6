"""Policies and operator policies that come to apply to the app's objects, change and go: told with
the management API alone, and never taken back by the app."""

from __future__ import annotations

from typing import Any

from interop.drift.changes.change import Change, What
from interop.drift.hand import Hand

_NAME = "by-hand"


def _policy(
    pattern: str, apply_to: str, definition: dict[str, Any], priority: int = 0
) -> dict[str, Any]:
    return {
        "pattern": pattern,
        "apply-to": apply_to,
        "definition": definition,
        "priority": priority,
    }


_LENGTH = _policy("^drift\\.plain$", "queues", {"max-length": 100})


def _appearing(title: str, policy: dict[str, Any], *, operator: bool = False) -> Change:
    kind = "operator policy" if operator else "policy"
    told: tuple[What, ...] = (("extra", kind, _NAME, ""),)

    def do(hand: Hand) -> None:
        hand.set_policy(_NAME, policy, operator=operator)

    def undo(hand: Hand) -> None:
        hand.delete_policy(_NAME, operator=operator)

    return Change(title, do, undo, management=told, needs_policies=True)


POLICY_CHANGES: tuple[Change, ...] = (
    _appearing("a policy on a queue", _LENGTH),
    _appearing("an operator policy on a queue", _LENGTH, operator=True),
    _appearing("a policy on a tier", _policy("retry", "queues", {"message-ttl": 10})),
    _appearing(
        "a policy on an exchange",
        _policy("^drift\\.direct$", "exchanges", {"alternate-exchange": "drift.alternate"}),
    ),
    _appearing("a policy on everything", _policy("", "all", {"max-length": 100_000}, 5)),
)
