"""Contexts into the headers of messages, and out of them.

What comes from a peer is not trusted: a context that can't be read is none, and a propagator that
raises is told in the log.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from time import monotonic

from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.propagators.textmap import Getter, Setter, TextMapPropagator

from mqkit.drafts import new_message, new_properties
from mqkit.message import Headers, Message, Properties

VALUE_CHARACTERS_MAX = 8192
"""Of a header that is read: as much as W3C's Baggage may have, and traceparent and tracestate have
less. A frame has room for more, which only a mistake or an attack would fill."""

FAULT_EVERY_S = 60.0
"""A propagator that raises is told once a minute."""

_LOG = logging.getLogger(__name__)


class _HeaderGetter(Getter[Headers]):
    """Reads headers that are text, or octets that another client has sent for it."""

    def get(self, carrier: Headers, key: str) -> list[str] | None:
        value = carrier.get(key)
        if isinstance(value, bytes):
            value = value.decode("ascii", "replace")
        if not isinstance(value, str) or len(value) > VALUE_CHARACTERS_MAX:
            return None
        return [value]

    def keys(self, carrier: Headers) -> list[str]:
        return list(carrier)


class _CarrierSetter(Setter[dict[str, str]]):
    """Writes headers. OpenTelemetry's own is of a type that pyright does not take."""

    def set(self, carrier: dict[str, str], key: str, value: str) -> None:
        carrier[key] = value


_GETTER, _SETTER = _HeaderGetter(), _CarrierSetter()


class Propagation:
    """By ``propagator``, or by the one that is OpenTelemetry's global at the moment."""

    def __init__(self, propagator: TextMapPropagator | None = None) -> None:
        self._own = propagator
        self._seen: TextMapPropagator | None = None
        self._fields: frozenset[str] = frozenset()
        self._told_s: float | None = None

    def context_of(self, headers: Headers) -> Context:
        """The context that ``headers`` carry: an empty one where they carry none, and never the
        current one. Never raises."""
        try:
            propagator = self._propagator()
            if self._fields.isdisjoint(headers):
                return Context()
            return propagator.extract(headers, Context(), _GETTER)
        except Exception as error:  # noqa: BLE001 - a propagator is other people's code
            self._tell(error)
            return Context()

    def creation_context_of(self, headers: Headers) -> Context | None:
        """The context that ``headers`` carry; ``None`` where no span is in it."""
        if not headers:
            return None
        context = self.context_of(headers)
        return context if trace.get_current_span(context).get_span_context().is_valid else None

    def carrier(self, context: Context) -> dict[str, str]:
        """The headers that carry ``context``. Never raises."""
        carrier: dict[str, str] = {}
        try:
            self._propagator().inject(carrier, context, _SETTER)
        except Exception as error:  # noqa: BLE001 - a propagator is other people's code
            self._tell(error)
        return carrier

    def carrying(self, message: Message, carrier: Mapping[str, str]) -> Message:
        """``message`` with the headers of ``carrier`` in place of those of another context."""
        if not carrier:
            return message
        headers = message.properties.headers
        if headers:
            kept = {name: headers[name] for name in headers if name not in self._fields}
            return _with_headers(message, {**kept, **carrier})
        return _with_headers(message, dict(carrier))

    def _propagator(self) -> TextMapPropagator:
        propagator = self._own or propagate.get_global_textmap()
        if propagator is not self._seen:
            self._fields = frozenset(propagator.fields)
            self._seen = propagator
        return propagator

    def _tell(self, error: Exception) -> None:
        # Also on threads that have no event loop, whose clock the app's clock is.
        now_s = monotonic()
        if self._told_s is None or now_s - self._told_s >= FAULT_EVERY_S:
            self._told_s = now_s
            _LOG.warning("a propagator raised, and the trace ends there: %r", error)


def _with_headers(message: Message, headers: dict[str, object]) -> Message:
    own = message.properties
    if type(own) is not Properties:  # exact ones, which know their octets
        return replace(message, properties=replace(own, headers=headers))
    # Each message of a batch comes here, and `replace` would be most of what its trace costs.
    properties = new_properties(
        own.content_type,
        own.content_encoding,
        headers,
        own.persistent,
        own.priority,
        own.correlation_id,
        own.reply_to,
        own.expiration_ms,
        own.message_id,
        own.timestamp,
        own.type,
        own.user_id,
        own.app_id,
    )
    exchange, key, body = message.exchange, message.routing_key, message.body
    return new_message(exchange, key, body, properties, message.mandatory)
