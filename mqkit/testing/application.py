"""An app of the program under test, led to a test's broker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module

from mqkit.app import App
from mqkit.errors import ConfigurationError
from mqkit.testing.broker import Broker
from mqkit.timing.seconds import Span

DRAIN_S = 1.0
"""Seconds that handlers get to finish at the end of a test: one that hangs has failed it before."""

READY_S = 10.0
"""Seconds that an app has to declare its topology and to consume, unless said otherwise."""


def app_named(place: str) -> App:
    """The app at ``place``: "module:name", where the name is that of an app, or of a function that
    makes one. Raises :exc:`~mqkit.errors.ConfigurationError` for anything else."""
    module, _, name = place.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(
            f'mqkit_app("{place}") is to name an app as "module:name": {error}'
        ) from error
    return made_by((lambda: found) if isinstance(found, App) else found)


def made_by(factory: Callable[[], App]) -> App:
    """The app that ``factory`` makes. Raises :exc:`~mqkit.errors.ConfigurationError` for what is
    none."""
    made = factory() if callable(factory) else factory
    if not isinstance(made, App):
        raise ConfigurationError(f"an app was to be made, and {made!r} is none")
    return made


@contextmanager
def led_to(app: App, broker: Broker) -> Iterator[App]:
    """Within the block ``app`` connects to ``broker``, whatever its settings say, and has its clock
    where the test has asked for that. Do not enter the app before."""
    settings, clock, drain_timeout_s = app.settings, app.clock, app.drain_timeout_s
    app.drain_timeout_s = min(drain_timeout_s, DRAIN_S)
    app.settings = settings.load(**{**dict(settings), "urls": broker.url})
    app.clock = clock or broker.clock_if_any
    try:
        yield app
    finally:
        app.settings, app.clock, app.drain_timeout_s = settings, clock, drain_timeout_s


@asynccontextmanager
async def running(app: App, broker: Broker, *, ready: Span = READY_S) -> AsyncIterator[App]:
    """Run ``app`` on ``broker``: the block begins when topology and consumers are there. Raises as
    entering the app does, and :exc:`~mqkit.errors.DeadlineExceeded` after ``ready``."""
    with led_to(app, broker):
        async with app:
            await app.wait_ready(ready)
            try:
                yield app
            finally:
                if (clock := broker.clock_if_any) is not None:
                    clock.wake_all()  # a handler that waits for time would hold up the drain
