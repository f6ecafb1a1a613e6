"""The policies in force on an app's objects, compared with those of the app's first look. Pure.

A policy is told of by its own name, once for all the objects that it applies to. One that stops
applying because another one of a higher priority does now is missing, and the other one is extra.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.drift.event import Done, Drift, DriftKind
from mqkit.topology.diff import canonical


class PolicyRow(Protocol):
    """A policy of the broker."""

    @property
    def name(self) -> str: ...
    @property
    def pattern(self) -> str: ...
    @property
    def apply_to(self) -> str: ...
    @property
    def priority(self) -> float: ...
    @property
    def definition(self) -> Mapping[str, Any]: ...


Best: TypeAlias = Callable[[Iterable[PolicyRow], Queue | Exchange], PolicyRow | None]
"""The one of the policies that applies to an object."""

_OWN_FIELDS = ("pattern", "apply-to", "priority")


@dataclass(frozen=True, slots=True)
class PolicyRows:
    """All policies of a virtual host."""

    policies: Sequence[PolicyRow] = ()
    operator_policies: Sequence[PolicyRow] = ()


class PolicyBaseline:
    """The policies on the app's objects as they were at the first :meth:`drifts`."""

    def __init__(self, best: Best) -> None:
        self._best = best
        self._first: _InForce | None = None

    def drifts(self, wanted: Sequence[Declaration], rows: PolicyRows) -> tuple[Drift, ...]:
        """What is not as it was. The first call finds nothing: it is what later ones compare
        with."""
        now = {
            (kind, policy.name): _fields(policy)
            for kind, some in (
                ("policy", rows.policies),
                ("operator policy", rows.operator_policies),
            )
            for policy in self._applying(wanted, some)
        }
        if self._first is None:
            self._first = now
        return tuple(_differences(self._first, now))

    def _applying(
        self, wanted: Sequence[Declaration], policies: Sequence[PolicyRow]
    ) -> Iterator[PolicyRow]:
        if not policies:
            return
        for declaration in wanted:
            if not isinstance(declaration, Binding):
                found = self._best(policies, declaration)
                if found is not None:
                    yield found


_InForce: TypeAlias = Mapping[tuple[str, str], Mapping[str, Any]]
"""The fields of policies, by kind and name."""


def _fields(policy: PolicyRow) -> dict[str, Any]:
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
