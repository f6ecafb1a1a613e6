"""The demo on a terminal: lines that stay, and below them bars that move.

Where nobody watches (a pipe, a CI log) the bars become a plain line every few seconds.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from mqkit_cli.demo.journal import Event, Journal

REFRESH_PER_S = 8
PLAIN_INTERVAL_S = 5.0
BAR_WIDTH = 40

FLOW = (Event.PUBLISHED, Event.CONFIRMED, Event.PROCESSED)
"""The events of every message: these have bars."""

FAILURES = (Event.RETRIED, Event.PARKED, Event.REPLAYED)


class View(Protocol):
    """A context manager around the run."""

    def __enter__(self) -> View: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def say(self, text: str) -> None:
        """A line that stays."""
        ...

    def tick(self) -> None:
        """Something may have moved. Cheap; called often."""
        ...


class PlainView:
    """Lines only."""

    def __init__(self, console: Console, journal: Journal) -> None:
        self._console = console
        self._journal = journal
        self._shown_at = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to put away."""

    def say(self, text: str) -> None:
        self._shown_at = time.monotonic()
        self._console.print(Text(text), soft_wrap=True)
        self._console.file.flush()

    def tick(self) -> None:
        if time.monotonic() - self._shown_at >= PLAIN_INTERVAL_S:
            self.say(f"    ... {counts(self._journal, (*FLOW, *FAILURES))}")


class LiveView:
    """Lines above, bars below. The bars go away with the end of the run."""

    def __init__(self, console: Console, journal: Journal, total: int) -> None:
        self._journal = journal
        self._total = total
        self._console = console
        self._live = Live(
            console=console,
            get_renderable=self._draw,
            refresh_per_second=REFRESH_PER_S,
            transient=True,
        )

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def say(self, text: str) -> None:
        self._console.print(Text(text))

    def tick(self) -> None:
        """Live draws by itself, from a thread of its own."""

    def _draw(self) -> Group:
        bars = Table.grid(padding=(0, 2))
        for event in FLOW:
            done = self._journal.messages(event)
            bar = ProgressBar(total=self._total, completed=done, width=BAR_WIDTH)
            bars.add_row(f"  {event}", bar, Text(f"{done:,} of {self._total:,}"))
        return Group(Text(), bars, Text(f"  {counts(self._journal, FAILURES)}"))


def make_view(console: Console, journal: Journal, total: int) -> View:
    """The one that suits where the output goes, for a run of ``total`` messages."""
    if console.is_terminal:
        return LiveView(console, journal, total)
    return PlainView(console, journal)


def counts(journal: Journal, events: tuple[Event, ...]) -> str:
    """``published 12,000, confirmed 11,500 ...``"""
    return ", ".join(f"{event} {journal.messages(event):,}" for event in events)
