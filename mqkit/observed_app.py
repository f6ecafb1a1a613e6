"""The part of an app by which it is seen from outside: counters, metrics, and who is told of what
happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqkit.consumer import Stats
from mqkit.drift import Drift
from mqkit.metrics import Meters, Metrics
from mqkit.program_hook import ProgramHooks

if TYPE_CHECKING:
    from mqkit.settings import Settings


class ObservedApp:
    """The base of :class:`~mqkit.App`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.on_drift: ProgramHooks[Drift] = ProgramHooks("on_drift")
        """``@app.on_drift`` registers a function that is told each :class:`~mqkit.Drift`."""
        self._meters = Meters(measures=settings.metrics)

    @property
    def stats(self) -> Stats:
        """Counters of settled deliveries, over all consumers of this app; and of drifts. The same
        object each time, which has the sums of now."""
        return self._meters.stats

    @property
    def metrics(self) -> Metrics:
        """The app's metrics as they are now, by queue and handler, by exchange, and of its
        connections: values that do not change any more. On any thread, also while the app does not
        run. Without ``App(metrics=True)`` there are counts, and nothing is measured."""
        return self._meters.values
