"""The story of a failure: the last events that matter, until the law is broken."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reference_broker.simulation.cut import WHOLE, Cut
from reference_broker.simulation.plan.plans import Scenario
from reference_broker.simulation.report import SeedResult, run_world
from reference_broker.simulation.shortening.chronicle import Chronicle, Happening
from reference_broker.simulation.world import World

EVENTS = 40
"""Events of a story: with its first and last lines it fits on a screen."""

_OF_THE_BROKER = 15
"""Of them, faults and starts, the last ones."""

_OF_A_QUEUE = 12
"""Of them, what happened to other messages in a queue that the failure names, the last ones."""

_LINE = 140
_NUMBER = re.compile(r"\b(?:messages?|first is|before|after|with) (\d+)")
_QUEUE = re.compile(r"'([\w.-]+)'")


def story_of(scenario: Scenario, cut: Cut = WHOLE) -> tuple[SeedResult, list[str]]:
    """Run what a cut leaves of a scenario, and tell what led to its failure: its result, and the
    lines."""
    world = World(scenario, cut=cut)
    chronicle = Chronicle(world)
    result = run_world(world)
    return result, told(chronicle.happenings(), result.failure)


def told(events: Sequence[Happening], failure: str) -> list[str]:
    """Lines about those of ``events`` that say most about the failure: what happened to a message
    that it names, to the broker, in a queue that it names; and the last others, where it names no
    message."""
    reason = failure.strip().splitlines()[-1] if failure else ""
    law = reason.partition(":")[0]
    feature = law if any(event.feature == law for event in events) else ""
    numbers = {int(number) for number in _NUMBER.findall(reason)}
    queues = set(_QUEUE.findall(reason))
    places = range(len(events))
    near = [place for place in places if events[place].feature == feature]
    wanted = [
        [place for place in near if events[place].number in numbers],
        [place for place in places if events[place].is_about_all][-_OF_THE_BROKER:],
        [place for place in near if queues & set(events[place].queues)][-_OF_A_QUEUE:],
        [] if numbers else list(places),
    ]
    chosen: set[int] = set()
    for candidates in wanted:
        for place in reversed(candidates):
            if len(chosen) < EVENTS:
                chosen.add(place)
    lines = [f"story     {len(chosen)} of {len(events)} events, by virtual seconds"]
    for place in sorted(chosen):
        event = events[place]
        lines.append(f"  {event.us / 1_000_000:10.6f}  {event.text}"[:_LINE])
    if reason:
        lines.append(f"  FAILED      {reason}"[: 2 * _LINE])
    return lines
