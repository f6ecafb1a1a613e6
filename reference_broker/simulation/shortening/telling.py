"""A failing scenario in a few lines: what is left of it, how that is run again, and its story."""

from __future__ import annotations

import time
from collections.abc import Callable

from reference_broker.simulation.cut import Cut
from reference_broker.simulation.plan.plans import Scenario
from reference_broker.simulation.shortening.search import SECONDS, TRIES, shorten
from reference_broker.simulation.shortening.story import story_of


def cut_short(
    scenario: Scenario,
    tries: int = TRIES,
    seconds: float = SECONDS,
    now: Callable[[], float] = time.monotonic,
) -> str:
    """Look for the smallest cut that fails alike (:func:`shorten`), and tell its story, in under 60
    lines. Empty for a scenario that doesn't fail."""
    shortened = shorten(scenario, tries, seconds, now)
    if shortened is None:
        return ""
    result, story = story_of(scenario, shortened.cut)
    head = f"cut       {described(shortened.cut)}; found in {shortened.tries} tries"
    return "\n".join([head, f"  {result.replay}", *story])


def described(cut: Cut) -> str:
    """The cut in words for people."""
    words = [
        _listed("client", cut.clients),
        _listed("feature", cut.features),
        _listed("queue", cut.queues),
        _listed("fault", cut.strikes),
    ]
    if cut.actions is not None:
        words.append(f"{cut.actions} actions of each client")
    if cut.duration_us is not None:
        words.append(f"{cut.duration_us / 1_000_000:.1f} s")
    return "; ".join(word for word in words if word) or "nothing"


def _listed(noun: str, parts: tuple[object, ...] | None) -> str:
    if parts is None:
        return ""
    if not parts:
        return f"no {noun}s"
    return f"{noun}{'s' * (len(parts) > 1)} {', '.join(map(str, parts))}"
