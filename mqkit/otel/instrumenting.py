"""The functions by which a program has spans: of an app, of lots, of rows of an outbox."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from mqkit.extras import advice

try:
    from opentelemetry.propagators.textmap import TextMapPropagator
    from opentelemetry.trace import TracerProvider
except ModuleNotFoundError as missing:
    told = advice(missing, "otel")
    raise (missing if told is None else ModuleNotFoundError(told, name=missing.name)) from None

from mqkit.app import App
from mqkit.lots.publishing import publish_over
from mqkit.otel.creating import TracedCreation
from mqkit.otel.of_app import TracedApp
from mqkit.otel.returning import TracedReturns
from mqkit.otel.sending import SendSpans
from mqkit.otel.tracing import Tracing
from mqkit.outbox.preparing import prepare_by

if TYPE_CHECKING:
    from mqkit.lots.clock.run import Lots
    from mqkit.lots.link import LotLink


def instrument(
    what: App | Lots,
    *,
    tracer_provider: TracerProvider | None = None,
    propagator: TextMapPropagator | None = None,
) -> None:
    """Have spans for all that an app publishes, calls and handles, its relay of the outbox
    included; or for all that lots send back by the clock. Call it once, before the app is entered.

    Without ``tracer_provider`` and ``propagator``, OpenTelemetry's global ones are used, whenever
    those are set. Raises :exc:`~mqkit.errors.ConfigurationError` for an app that is running, or
    that is traced already.
    """
    tracing = Tracing(tracer_provider, propagator)
    if isinstance(what, App):
        what.trace(TracedApp(tracing))
        return
    # Of several brokers nobody says which one a channel is at.
    only = what.endpoints[0] if len(what.endpoints) == 1 else None
    what.publish_by(TracedReturns(publish_over, SendSpans(tracing, lambda: only)))


def traced(
    link: LotLink,
    *,
    tracer_provider: TracerProvider | None = None,
    propagator: TextMapPropagator | None = None,
) -> LotLink:
    """``link`` with spans for all that tools publish by it: replays, moves, restores. As
    :func:`instrument`."""
    spans = SendSpans(Tracing(tracer_provider, propagator), lambda: link.endpoint)
    return replace(link, publish_over=TracedReturns(link.publish_over, spans))


def instrument_outbox(
    *,
    tracer_provider: TracerProvider | None = None,
    propagator: TextMapPropagator | None = None,
) -> Callable[[], None]:
    """Have a span for each message that this process writes to an outbox, and its context in the
    headers of the row: of all sessions and engines, and of Django's, until the returned function is
    called. As :func:`instrument`; raises :exc:`~mqkit.errors.ConfigurationError` the second time.
    """
    return prepare_by(TracedCreation(Tracing(tracer_provider, propagator)))
