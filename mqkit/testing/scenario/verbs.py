"""The verbs of a scenario: those of ``broker.faults``, and the clock's. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

ADVANCE = "advance"
"""The clock is moved to the moment of the step."""


class Seen(StrEnum):
    """The keys of a step that say what was seen of its effect."""

    FOUND = "found"
    """The number of connections or consumers that it befell."""
    STRUCK = "struck"
    """True if it came about before the recording ended: somebody published."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument: a text that has to be there, or with a least value a whole number that may be
    left out."""

    least: int | None = None
    default: int | None = None


@dataclass(frozen=True, slots=True)
class Verb:
    """The arguments of a verb, and what is seen of it."""

    arguments: Mapping[str, Argument] = field(default_factory=dict)
    seen: Seen | None = None


_ON_PUBLISH = Verb({"publish": Argument(least=1, default=1)}, Seen.STRUCK)
_PLAIN = Verb()
_QUEUE = {"queue": Argument()}

VERBS: Mapping[str, Verb] = MappingProxyType(
    {
        ADVANCE: Verb({"holding": Argument(least=0)}),
        "drop_connections": Verb(seen=Seen.FOUND),
        "drop_before_confirm": _ON_PUBLISH,
        "drop_after_confirm": _ON_PUBLISH,
        "nack": _ON_PUBLISH,
        "hold_answers": _PLAIN,
        "release_answers": _PLAIN,
        "block": _PLAIN,
        "unblock": _PLAIN,
        "fill_disk": _PLAIN,
        "free_disk": _PLAIN,
        "cancel_consumers": Verb(_QUEUE, Seen.FOUND),
        "refuse_queue": Verb(_QUEUE),
        "accept_queue": Verb(_QUEUE),
    }
)
