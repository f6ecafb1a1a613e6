"""The client libraries that compete, what each of them can't do, and how to load one.

Light on purpose: a contestant's module is loaded in its own process only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pkgutil import resolve_name

from mqkit_bench.client.scenario import BATCH_CALLERS, Play, Scenario

ALL = frozenset(Scenario)
ONE_AT_A_TIME = "waits for each confirm: one in flight"
NO_BATCHES = "has no batches"
NO_BATCH_ACKS = "acks each message"
UNCONFIRMED = "confirms off, its only way to pipeline"
_BLOCKING = {
    Scenario.PUBLISH_100: ONE_AT_A_TIME,
    Scenario.PUBLISH_1000: ONE_AT_A_TIME,
    **dict.fromkeys(BATCH_CALLERS, NO_BATCHES),
}


@dataclass(frozen=True, slots=True)
class ClientContestant:
    """A library, or one way to use it."""

    name: str
    distribution: str
    plays: str
    """The contestant's :data:`~mqkit_bench.client.scenario.Play` by scenario, as
    ``module:name``."""
    enters: frozenset[Scenario] = ALL
    """The scenarios in which the contestant has a row."""
    lacks: Mapping[Scenario, str] = field(default_factory=dict)
    """The reasons, by scenario, that stand in the row instead of figures."""
    notes: Mapping[Scenario, str] = field(default_factory=dict)
    """Remarks that belong beside the figures, by scenario."""

    @property
    def version(self) -> str | None:
        """``None`` when it is not installed."""
        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return None

    def why_not(self, scenario: Scenario) -> str | None:
        """The reason why the contestant can't play ``scenario``, if there is one."""
        if scenario in self.lacks:
            return self.lacks[scenario]
        return "not installed" if self.version is None else None

    def play(self, scenario: Scenario) -> Play:
        """Loads the library. Raises :exc:`KeyError` for a scenario that it does not play."""
        plays: Mapping[Scenario, Play] = resolve_name(self.plays)
        return plays[scenario]


BASELINE = ClientContestant(
    "aio-pika",
    "aio-pika",
    "mqkit_bench.client.aio_pika:PLAYS",
    notes=dict.fromkeys(BATCH_CALLERS, "gathered publishes"),
)
"""The contestant that all ratios are to, round by round."""

OURS = ClientContestant(
    "mqkit, native",
    "mqkit",
    "mqkit_bench.client.mqkit:NATIVE",
    notes={Scenario.PUBLISH_1: "target: 1.5x the rate, 0.4x the CPU"},
)

CONTESTANTS = (
    OURS,
    ClientContestant("mqkit over aio-pika", "mqkit", "mqkit_bench.client.mqkit:OVER_AIO_PIKA"),
    ClientContestant(
        "mqkit.sync",
        "mqkit",
        "mqkit_bench.client.mqkit_sync:PLAYS",
        enters=frozenset({Scenario.PUBLISH_1, Scenario.PUBLISH_BATCH}),
    ),
    BASELINE,
    ClientContestant(
        "FastStream",
        "faststream",
        "mqkit_bench.client.faststream:PLAYS",
        lacks={
            **dict.fromkeys(BATCH_CALLERS, NO_BATCHES),
            Scenario.CONSUME_ACK_BATCH: NO_BATCH_ACKS,
        },
    ),
    ClientContestant("pika", "pika", "mqkit_bench.client.pika:CONFIRMED", lacks=_BLOCKING),
    ClientContestant(
        "pika, unconfirmed",
        "pika",
        "mqkit_bench.client.pika:UNCONFIRMED",
        enters=frozenset({Scenario.PUBLISH_1000}),
        notes={Scenario.PUBLISH_1000: UNCONFIRMED},
    ),
    ClientContestant("kombu", "kombu", "mqkit_bench.client.kombu:CONFIRMED", lacks=_BLOCKING),
    ClientContestant(
        "kombu, unconfirmed",
        "kombu",
        "mqkit_bench.client.kombu:UNCONFIRMED",
        enters=frozenset({Scenario.PUBLISH_1000}),
        notes={Scenario.PUBLISH_1000: UNCONFIRMED},
    ),
)
BY_NAME = {contestant.name: contestant for contestant in CONTESTANTS}
