"""The examination of an app: facts in, health out. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from mqkit.consumer.consumer_states import State as ConsumerState
from mqkit.health.report import Fault, Health, Reason
from mqkit.supervision.states import State

REASONS_MAX = 20
"""Reasons that are named; a topology that is refused whole has thousands."""

PATIENCE = 1.5
"""A handler that has used up its timeout is cancelled, and its message retried: half as long again
is time for that."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The times after which something is a fault, in seconds."""

    live_s: float
    blocked_s: float
    stalled_s: float


@dataclass(frozen=True, slots=True)
class ConsumerFacts:
    """One consumer. ``stalled_s`` is the time for which it has been seen to have messages and to
    settle none; ``patience_s`` what its own options say that may take."""

    queue: str
    handler: str
    state: ConsumerState
    stalled_s: float = 0.0
    patience_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Facts:
    """An app at one moment. ``pulse_age_s`` is the time since its event loop was seen to turn;
    ``refused`` are the names of objects that the broker does not declare, and its reply code."""

    state: State
    pulse_age_s: float = 0.0
    blocked_for_s: float = 0.0
    refused: tuple[tuple[str, int], ...] = ()
    consumers: tuple[ConsumerFacts, ...] = ()


_STATES = {
    State.CONNECTING: Reason(Fault.NOT_CONNECTED, "there is no connection to the broker"),
    State.DECLARING: Reason(Fault.SETTING_UP, "topology and consumers are being set up"),
    State.DRAINING: Reason(Fault.STOPPING, "the app is stopping, and takes nothing new"),
    State.CLOSED: Reason(Fault.NOT_RUNNING, "the app is not running"),
}
"""States that are a fault by themselves; what they keep from working is not told beside them."""


def examine(facts: Facts, limits: Limits) -> Health:
    """The health of an app with these facts."""
    is_live = facts.state is not State.CLOSED and facts.pulse_age_s <= limits.live_s
    reasons = _reasons(facts, limits)
    told = tuple(islice(reasons, REASONS_MAX))
    return Health(is_live, told, sum(1 for _ in reasons))


def _reasons(facts: Facts, limits: Limits) -> Iterator[Reason]:
    if facts.state is not State.CLOSED and facts.pulse_age_s > limits.live_s:
        text = f"the event loop has not turned for {facts.pulse_age_s:.0f} s"
        yield Reason(Fault.LOOP_BLOCKED, text)
    if (reason := _STATES.get(facts.state)) is not None:
        yield reason
        return
    if facts.blocked_for_s > limits.blocked_s:
        text = f"the broker has taken no publishes for {facts.blocked_for_s:.0f} s"
        yield Reason(Fault.BLOCKED, text)
    for name, code in facts.refused:
        text = f"{name} is not declared: the broker answers {code}"
        yield Reason(Fault.NOT_DECLARED, text, name)
    for consumer in facts.consumers:
        yield from _of_consumer(consumer, limits)


def _of_consumer(consumer: ConsumerFacts, limits: Limits) -> Iterator[Reason]:
    named = f"{consumer.handler}, which consumes {consumer.queue},"
    if consumer.state in (ConsumerState.IDLE, ConsumerState.SUBSCRIBING):
        yield Reason(Fault.NOT_CONSUMING, f"{named} has no subscription", consumer.queue)
    if consumer.stalled_s > max(limits.stalled_s, PATIENCE * consumer.patience_s):
        text = f"{named} has messages, and has settled none for {consumer.stalled_s:.0f} s"
        yield Reason(Fault.NO_PROGRESS, text, consumer.queue)
