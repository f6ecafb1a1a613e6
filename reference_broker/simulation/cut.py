"""A cut: how much of a seed's scenario is left, so that its failure can be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from reference_broker.simulation.plan.plans import ClientPlan, Scenario
from reference_broker.simulation.plan.scenario import with_features

_US_PER_S = 1_000_000

EXAMPLE = "clients=0,2 features=quorum queues=shared-0,solo-1 strikes=1,4 actions=20 seconds=12.5"


@dataclass(frozen=True, slots=True)
class Cut:
    """The parts of a scenario that are left; ``None`` stands for all of a kind. :meth:`words` is
    what the simulator's command line takes."""

    clients: tuple[int, ...] | None = None
    features: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    """Queues by name, each with the one for its dead letters."""
    strikes: tuple[int, ...] | None = None
    """Numbers of the faults that strike, from 1 on; the others are drawn, and do nothing."""
    actions: int | None = None
    """Actions of each client: after them it stays connected, and does nothing until the calm."""
    duration_us: int | None = None
    """Microseconds of virtual time in which faults and clients are at work."""

    def words(self) -> str:
        """The cut in words, which :func:`parse` makes the same cut of; empty for the whole."""
        words = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            if field.name == "duration_us":
                words.append(f"seconds={_seconds(value)}")
            elif isinstance(value, tuple):
                words.append(f"{field.name}={','.join(map(str, value))}")
            else:
                words.append(f"{field.name}={value}")
        return " ".join(words)

    def of(self, scenario: Scenario) -> Scenario:
        """The scenario with the features, queues and time that are left. All its clients are still
        in it, so that each keeps its number: :meth:`clients_of` says which of them come.

        Raises :exc:`ValueError` for a cut that has what the scenario has not, or that leaves out
        the queue that the end of a run needs.
        """
        _among("clients", self.clients, [client.index for client in scenario.clients])
        _among("features", self.features, scenario.features)
        _among("queues", self.queues, queue_names(scenario))
        if self.features is not None:
            scenario = with_features(scenario, self.features)
        if self.duration_us is not None:
            scenario = replace(scenario, duration_us=self.duration_us)
        return scenario if self.queues is None else _with_queues(scenario, self.queues)

    def clients_of(self, scenario: Scenario) -> tuple[ClientPlan, ...]:
        """The clients that are left."""
        return tuple(
            client
            for client in scenario.clients
            if self.clients is None or client.index in self.clients
        )


WHOLE = Cut()
"""Leaves everything."""


def parse(text: str) -> Cut:
    """The cut of these words. Raises :exc:`ValueError` for any that is none, with a line that says
    what there is."""
    given: dict[str, Any] = {}
    for word in text.split():
        name, _, value = word.partition("=")
        parts = [part for part in value.split(",") if part]
        try:
            if name in ("clients", "strikes"):
                given[name] = tuple(int(part) for part in parts)
            elif name in ("features", "queues"):
                given[name] = tuple(parts)
            elif name == "actions":
                given[name] = int(value)
            elif name == "seconds":
                given["duration_us"] = round(float(value) * _US_PER_S)
            else:
                raise ValueError(name)
        except (ValueError, OverflowError):
            raise ValueError(
                f"'{word}' is no part of a cut; write some of {EXAMPLE} (and nothing behind '=' "
                "for none)"
            ) from None
    return Cut(**given)


def queue_names(scenario: Scenario) -> tuple[str, ...]:
    """Names of the queues that a cut may leave or not: those that are for no other's dead
    letters."""
    targets = {queue.dead_letters_to for queue in scenario.queues if not queue.waits}
    return tuple(queue.name for queue in scenario.queues if queue.name not in targets)


def needed_queue(scenario: Scenario) -> str:
    """The one of :func:`queue_names` that has to stay: a run publishes to it, or to the queue of
    its dead letters, at its end."""
    probe = scenario.probe[1]
    letters = scenario.dead_letters
    return next(name for name in queue_names(scenario) if probe in (name, letters.get(name)))


def _with_queues(scenario: Scenario, names: Sequence[str]) -> Scenario:
    needed = needed_queue(scenario)
    if needed not in names:
        raise ValueError(f"the queue '{needed}' has to stay, for the end of a run needs it")
    letters = scenario.dead_letters
    left = {*names, *(letters[name] for name in names if name in letters)}
    return replace(
        scenario,
        queues=tuple(queue for queue in scenario.queues if queue.name in left),
        clients=tuple(_taking_from(client, left) for client in scenario.clients),
    )


def _taking_from(client: ClientPlan, names: set[str]) -> ClientPlan:
    """The client, which takes from these queues only."""
    channels = [
        replace(
            channel,
            consumes=tuple(each for each in channel.consumes if each.queue in names),
            gets=tuple(each for each in channel.gets if each.queue in names),
        )
        for channel in client.channels
    ]
    return replace(client, channels=tuple(channels))


def _among(kind: str, wanted: Sequence[object] | None, there: Sequence[object]) -> None:
    if unknown := [each for each in wanted or () if each not in there]:
        has = ",".join(map(str, there)) or "none"
        raise ValueError(f"no {kind}={','.join(map(str, unknown))} in this seed, which has {has}")


def _seconds(us: int) -> str:
    return f"{us // _US_PER_S}.{us % _US_PER_S:06}".rstrip("0").rstrip(".")
