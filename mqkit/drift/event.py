"""``Drift``: one thing that is not as the app declared it, or is so again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mqkit.declaration import Binding, Declaration, Exchange
from mqkit.topology.planning.plan import name_of


class DriftKind(StrEnum):
    """The ways in which a broker's object may not be as declared."""

    MISSING = "missing"
    DIFFERENT = "different"
    EXTRA = "extra"
    """A binding to an object of the app, or a policy on one, that the app knows nothing of."""


class Done(StrEnum):
    """The app's answer to a drift."""

    DECLARED = "declared again"
    BOUND = "bound again"
    KEPT = "left as it is"
    """A broker changes no declaration in place; and what others add is theirs."""
    REFUSED = "refused by the broker"
    """It was to be declared again, and the broker would not."""


MENDED = frozenset({Done.DECLARED, Done.BOUND})


@dataclass(frozen=True, slots=True)
class Drift:
    """One thing that is not as declared.

    ``object_kind`` is "exchange", "queue", "binding", "policy" or "operator policy"; a binding's
    ``name`` is ``source -> destination [key] {arguments}``. ``field`` is what differs: a property
    ("durable"), an argument ("x-max-length"), a key of a policy; empty for a whole object.
    ``wanted`` and ``actual`` are its values, ``None`` where it is not set; over AMQP alone
    ``actual`` may be the text of it that the broker's error has.

    With ``is_over`` it is as declared again, and nothing has to be done about it any more. What was
    missing and is mended is told once, and is over by that.
    """

    kind: DriftKind
    object_kind: str
    name: str
    done: Done
    field: str = ""
    wanted: Any = None
    actual: Any = None
    is_over: bool = False

    @property
    def is_mended(self) -> bool:
        """True if the app has declared or bound the object again."""
        return self.done in MENDED

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for two that say the same, one over AMQP and one over the management API."""
        return (self.kind, self.object_kind, self.name, self.field, text_of(self.actual))

    def to_dict(self) -> dict[str, Any]:
        """The drift as plain values, for JSON and logs."""
        return {
            "kind": str(self.kind),
            "object_kind": self.object_kind,
            "name": self.name,
            "field": self.field,
            "wanted": self.wanted,
            "actual": self.actual,
            "done": str(self.done),
            "is_over": self.is_over,
        }

    def __str__(self) -> str:
        named = f"{self.object_kind} {self.name!r}"
        if self.kind is DriftKind.MISSING:
            return f"{named} was missing ({self.done})" if self.is_mended else f"{named} is missing"
        if self.kind is DriftKind.EXTRA:
            return f"{named} is there, and not declared"
        actual = "not set" if self.actual is None else text_of(self.actual)
        wanted = "not set" if self.wanted is None else text_of(self.wanted)
        return f"{named}: {self.field} is {actual}, wanted {wanted}"


def text_of(value: Any) -> str:
    """The text of a value, as RabbitMQ's errors have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def kind_of(declaration: Declaration) -> str:
    """``object_kind`` of a declared object."""
    if isinstance(declaration, Binding):
        return "binding"
    return "exchange" if isinstance(declaration, Exchange) else "queue"


def missing(declaration: Declaration, done: Done) -> Drift:
    """``declaration`` is not there, or was not."""
    return Drift(DriftKind.MISSING, kind_of(declaration), name_of(declaration), done)


def different(declaration: Declaration, field: str, wanted: Any, actual: Any) -> Drift:
    """``declaration`` is there with another ``field``."""
    return Drift(
        DriftKind.DIFFERENT,
        kind_of(declaration),
        name_of(declaration),
        Done.KEPT,
        field,
        wanted,
        actual,
    )


def extra(declaration: Declaration) -> Drift:
    """``declaration`` is there, and nobody here declared it."""
    return Drift(DriftKind.EXTRA, kind_of(declaration), name_of(declaration), Done.KEPT)
