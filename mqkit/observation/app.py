"""The part of an app by which it is seen from outside."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from mqkit.consumer import Stats
from mqkit.drift import Drift
from mqkit.observation.observation import Observation
from mqkit.program_hook import ProgramHooks

if TYPE_CHECKING:
    from mqkit.health.report import Health
    from mqkit.metrics.values import Metrics
    from mqkit.observation.event import Event
    from mqkit.settings import Settings


class ObservedApp:
    """The base of :class:`~mqkit.App`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._observation = Observation(settings)
        self.on_drift: ProgramHooks[Drift] = ProgramHooks("on_drift")
        """``@app.on_drift`` registers a function that is told each :class:`~mqkit.Drift`."""
        self.observe: ProgramHooks[Event] = self._observation.events
        """``@app.observe`` registers a function that is told each :data:`~mqkit.Event`, in order:
        an ``async def``, or a plain function, which runs in a worker thread."""
        self.health_address: str | None = None
        """The address at which probes are answered, ``127.0.0.1:8080``, while the app is entered
        and has one."""

    @property
    def stats(self) -> Stats:
        """Counters of settled deliveries, over all consumers of this app; and of drifts. The same
        object each time, which has the sums of now."""
        return self._observation.meters.stats

    @property
    def metrics(self) -> Metrics:
        """The app's metrics as they are now, by queue and handler, by exchange, and of its
        connections: values that do not change any more. On any thread, also while the app does not
        run. Without ``App(metrics=True)`` there are counts, and nothing is measured."""
        return self._observation.meters.values

    def health(self) -> Health:
        """The app's health as it is now: live, ready, and the reasons why not. On any thread, also
        while the app does not run. A consumer's standstill is told from the second call on."""
        return self._observation.health()

    @asynccontextmanager
    async def _probed(self, running: AbstractAsyncContextManager[None]) -> AsyncIterator[None]:
        """Answer probes while the app is ``running``, where the settings say so. Raises
        :exc:`~mqkit.errors.ConfigurationError` where nobody can listen there."""
        if self.settings.health is None:
            async with running:
                yield
            return
        # Who has no probes has no server loaded.
        from mqkit.health.address import parse_address
        from mqkit.health.server import HealthServer
        from mqkit.observation.probes import Probes

        server = HealthServer(parse_address(self.settings.health), Probes(self))
        self.health_address = str(server.start())
        pulse = self._observation.examiner.pulse
        pulse.begin()
        try:
            async with running:
                yield
        finally:
            pulse.end()
            self.health_address = None
            server.close()
