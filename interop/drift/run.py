"""One run: a broker, an app, changes in rounds of all kinds in the order of a seed, then quiet."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from interop.brokers import one_broker
from interop.drift.app_process import AppProcess
from interop.drift.changes import CHANGES, Change
from interop.drift.hand import Hand
from interop.drift.judge import all_told, faults, strays
from interop.drift.layout import Binding

GRACE_S = 1.0
"""A change is told within ``drift_every`` and this."""

ASK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class Options:
    """A run's choices."""

    broker: Literal["reference", "rabbitmq"]
    look: Literal["amqp", "management"]
    transport: str
    seconds: float
    quiet_s: float
    every_s: float
    seed: int
    with_policies: bool
    only: str = ""

    @property
    def limit_s(self) -> float:
        """The time within which a change is told, and what was deleted is there again."""
        return self.every_s + GRACE_S


def kinds(options: Options) -> tuple[Change, ...]:
    """The kinds of changes of this run."""
    return tuple(
        change
        for change in CHANGES
        if options.broker in change.on
        and (options.with_policies or not change.needs_policies)
        and options.only in change.title
    )


def run(options: Options) -> int:
    """Returns 1 where a change was not told as it should be, or something else was."""
    with (
        tempfile.TemporaryDirectory(prefix="mqkit-drift-") as folder,
        one_broker(options.broker) as broker,
    ):
        credentials = broker.endpoint.credentials
        login = f"{credentials.username}:{credentials.password}"
        url = f"amqp://{login}@{broker.endpoint.host}:{broker.endpoint.port}/"
        plain = broker.management_url.rpartition("@")[2].removeprefix("http://")
        looked_at = f"http://{login}@{plain}" if options.look == "management" else None
        hand = Hand(url, f"http://{plain}")
        with AppProcess(
            url,
            looked_at,
            Path(folder),
            transport=options.transport,
            every_s=options.every_s,
        ) as app:
            found = list(_changes(options, app, hand))
            found += _quiet(options, app)
            app.check()
        hand.close()
    for fault in found:
        print(fault)
    return 1 if found else 0


def _changes(options: Options, app: AppProcess, hand: Hand) -> Iterator[str]:
    rng = random.Random(options.seed)
    until = time.monotonic() + options.seconds
    made = 0
    chosen = list(kinds(options))
    while time.monotonic() < until:
        rng.shuffle(chosen)
        for change in chosen:
            if time.monotonic() >= until:
                break
            # Anywhere between two looks.
            time.sleep(rng.uniform(0, options.every_s))
            for fault in _make(options, change, app, hand):
                yield f"{change.title}: {fault}"
            made += 1
            app.check()
    print(f"{made} changes of {min(made, len(chosen))} kinds", file=sys.stderr)


def _make(options: Options, change: Change, app: AppProcess, hand: Hand) -> list[str]:
    """Make one change, take it back, and judge what was told meanwhile."""
    before = len(app.told)
    expected = change.expected(options.look)
    change.do(hand)
    made_s = time.monotonic()
    until_s = made_s + options.limit_s
    app.wait(lambda told: all_told(expected, told[before:]), until_s + GRACE_S)
    gone = _gone(change, hand, until_s)
    found_by = len(app.told)
    change.undo(hand)
    standing = [what for what in expected if what[0] != "missing" or what[1].endswith("policy")]
    is_over = app.wait(
        lambda told: all_told(standing, told[before:], is_over=True),
        time.monotonic() + options.limit_s + GRACE_S,
    )
    _settle(options, app)
    told = app.told[before:]
    found = faults(
        change,
        options.look,
        told,
        made_s=made_s,
        limit_s=options.limit_s,
        gone=gone,
    )
    twice = _told_twice(told[: found_by - before])
    return found + twice + ([] if is_over else ["its end was not told"])


def _told_twice(told: Sequence[object]) -> list[str]:
    """The events that were told more than once while it stayed the same."""
    standing = [str(one.row) for one in told if one.what[0] != "missing"]  # type: ignore[attr-defined]
    return [f"told twice: {row}" for row in sorted(set(standing)) if standing.count(row) > 1]


def _gone(change: Change, hand: Hand, until_s: float) -> list[str]:
    """The objects that should be there again by now, and are not."""
    gone = [thing for thing in change.comes_back if not _is_there(thing, hand)]
    while gone and time.monotonic() < until_s:
        time.sleep(ASK_EVERY_S)
        gone = [thing for thing in gone if not _is_there(thing, hand)]
    return [thing.name for thing in gone]


def _is_there(thing: object, hand: Hand) -> bool:
    if isinstance(thing, Binding):
        return hand.is_bound(thing)
    return hand.is_there(thing)  # type: ignore[arg-type]


def _settle(options: Options, app: AppProcess) -> None:
    """Wait until the app has looked at everything once more, and has told nothing new."""
    while True:
        told = len(app.told)
        if not app.wait(
            lambda now, told=told: len(now) > told,  # type: ignore[misc]
            time.monotonic() + options.every_s + GRACE_S / 2,
        ):
            return


def _quiet(options: Options, app: AppProcess) -> list[str]:
    before = len(app.told)
    app.wait(lambda told: len(told) > before, time.monotonic() + options.quiet_s)
    return strays(app.told[before:])
