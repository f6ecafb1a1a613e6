"""One step of a scenario. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mqkit.retry.duration import format_duration

STEPS_MAX = 1000
"""Steps of one scenario: what a person reads and commits has a few dozen, and more take seconds to
be read."""


@dataclass(frozen=True, slots=True)
class Step:
    """``verb`` with its arguments, ``at_ms`` milliseconds after the beginning. ``found`` and
    ``struck`` are what was seen of it, where that is known: see
    :class:`~mqkit.testing.scenario.verbs.Seen`."""

    at_ms: int
    verb: str
    arguments: Mapping[str, int | str] = field(default_factory=dict)
    found: int | None = None
    struck: bool | None = None

    def __str__(self) -> str:
        """In words: ``cancel_consumers queue='orders' at 10s``."""
        said = "".join(f" {name}={value!r}" for name, value in self.arguments.items())
        return f"{self.verb}{said} at {format_duration(self.at_ms)}"
