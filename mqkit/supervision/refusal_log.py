"""The lines about objects of an app's topology that the broker refuses at a connect: warnings.

The topology is declared at each connect, and again where a queue turns out to be gone, so the same
refusals come again and again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from mqkit.timing.clock import SYSTEM_CLOCK
from mqkit.timing.token_bucket import Monotonic
from mqkit.topology.planning.plan import name_of
from mqkit.topology.planning.quarantine import Quarantined

SAME_EVERY_S = 60.0
"""Seconds before the same refusals are told again."""

OBJECTS_TOLD = 5
"""Objects that have a line each; the others are counted."""

_LOG = logging.getLogger(__name__)


class RefusalLog:
    """The refusals of one app."""

    def __init__(self, clock: Monotonic = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._told: tuple[str, ...] = ()
        self._told_at_s = 0.0

    def tell(self, quarantined: Sequence[Quarantined]) -> None:
        """``quarantined`` is all that the broker refused this time."""
        lines = tuple(map(_line, quarantined))
        now_s = self._clock.monotonic_s()
        if lines == self._told and now_s < self._told_at_s + SAME_EVERY_S:
            return
        self._told, self._told_at_s = lines, now_s
        for line in lines[:OBJECTS_TOLD]:
            _LOG.warning("%s", line)
        if len(lines) > OBJECTS_TOLD:
            _LOG.warning(
                "%d more objects are not declared: mqkit topology diff names them",
                len(lines) - OBJECTS_TOLD,
            )


def _line(refused: Quarantined) -> str:
    differences = "; ".join(map(str, refused.differences))
    detail = f" ({differences})" if differences else ""
    hint = f"; {refused.hint}" if refused.hint else ""
    return f"{name_of(refused.declaration)} is not declared: {refused.error}{detail}{hint}"
