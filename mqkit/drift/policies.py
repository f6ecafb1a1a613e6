"""The policies in force on an app's objects, compared with those of the app's first look. Pure.

A policy is told of by its own name, once for all the objects that it applies to. One that stops
applying because another one of a higher priority does now is missing, and the other one is extra.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from mqkit.declaration import Binding, Declaration
from mqkit.drift.event import Done, Drift, DriftKind
from mqkit.topology.planning.diff import canonical
from mqkit.topology.policy.in_force import best

if TYPE_CHECKING:
    from mqkit.topology.policy.policy_model import PolicyModel
    from mqkit.topology.snapshot import Snapshot


_OWN_FIELDS = ("pattern", "apply-to", "priority")


class PolicyBaseline:
    """The policies on the app's objects as they were at the first :meth:`drifts`."""

    def __init__(self) -> None:
        self._first: _InForce | None = None

    def drifts(self, wanted: Sequence[Declaration], actual: Snapshot) -> tuple[Drift, ...]:
        """The policies that are not as they were. The first call finds nothing: later ones compare
        with it."""
        now = {
            (kind, policy.name): _fields(policy)
            for kind, policies in (
                ("policy", actual.policies),
                ("operator policy", actual.operator_policies),
            )
            for policy in _applying(wanted, policies)
        }
        if self._first is None:
            self._first = now
        return tuple(_differences(self._first, now))


def _applying(
    wanted: Sequence[Declaration], policies: Sequence[PolicyModel]
) -> Iterator[PolicyModel]:
    if not policies:
        return
    for declaration in wanted:
        if not isinstance(declaration, Binding):
            found = best(policies, declaration)
            if found is not None:
                yield found


_InForce: TypeAlias = Mapping[tuple[str, str], Mapping[str, Any]]
"""The fields of policies, by kind and name."""


def _fields(policy: PolicyModel) -> dict[str, Any]:
    own = (policy.pattern, str(policy.apply_to), policy.priority)
    return {**policy.definition, **dict(zip(_OWN_FIELDS, own, strict=True))}


def _differences(before: _InForce, now: _InForce) -> Iterator[Drift]:
    for kind, name in dict.fromkeys((*before, *now)):
        was, is_ = before.get((kind, name)), now.get((kind, name))
        if was is None:
            yield Drift(DriftKind.EXTRA, kind, name, Done.KEPT)
        elif is_ is None:
            yield Drift(DriftKind.MISSING, kind, name, Done.KEPT)
        else:
            for field in dict.fromkeys((*was, *is_)):
                wanted, actual = was.get(field), is_.get(field)
                if canonical(wanted) != canonical(actual):
                    yield Drift(DriftKind.DIFFERENT, kind, name, Done.KEPT, field, wanted, actual)
