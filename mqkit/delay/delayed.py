"""The way of one delayed message: a pure decision of the topology and the message.

=======================================  ========================================================
the exchange in the topology             the message
=======================================  ========================================================
type ``x-delayed-message``               goes to it with the header ``x-delay``, and not mandatory:
                                         nothing is routed yet, so RabbitMQ would return it at once
                                         and deliver it later all the same
lists the delay under ``delays:``        goes to that delay's fanout exchange, and from its queue to
                                         the exchange when the time is over
anything else                            is refused
=======================================  ========================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Protocol

from mqkit.delay.names import delay_name
from mqkit.errors import ConfigurationError
from mqkit.message import Message
from mqkit.retry.duration import MAX_DURATION_MS, format_duration, parse_duration
from mqkit.retry.waiting_times import shown
from mqkit.timing.seconds import Span, seconds

DELAYED_TYPE = "x-delayed-message"
"""The exchange type of RabbitMQ's plugin rabbitmq_delayed_message_exchange; the reference broker
has it built in."""

DELAY_HEADER = "x-delay"
"""In milliseconds."""


class DelayingExchange(Protocol):
    """An exchange as the topology has it."""

    @property
    def type(self) -> str: ...
    @property
    def external(self) -> bool: ...
    @property
    def delays(self) -> Sequence[int]: ...


class Exchanges(Protocol):
    """A topology, as far as it is asked here."""

    @property
    def file(self) -> str: ...
    def exchange(self, name: str) -> DelayingExchange | None: ...


def delayed(topology: Exchanges | None, message: Message, delay: Span) -> Message:
    """The message to publish in place of ``message``, so that it is routed after ``delay``.

    Raises :exc:`~mqkit.errors.ConfigurationError` for a delay that the exchange of the message does
    not have, and says which it has.
    """
    delay_ms = _milliseconds(delay)
    exchange = _found(topology, message.exchange)
    if exchange.type == DELAYED_TYPE:
        return _with_header(message, delay_ms)
    if delay_ms not in exchange.delays:
        raise ConfigurationError(_without(message.exchange, exchange, delay_ms))
    if message.properties.expiration_ms is not None:
        raise ConfigurationError(
            f"a message with an expiration can't wait in {message.exchange!r}'s delays: it would"
            " end in the delay's queue; give the queue that takes it a message_ttl"
        )
    return replace(message, exchange=delay_name(message.exchange, delay_ms))


def _with_header(message: Message, delay_ms: int) -> Message:
    seen = message.properties.headers
    if DELAY_HEADER in seen:
        raise ConfigurationError(
            f"the message has a header {DELAY_HEADER} already: give it, or the delay, not both"
        )
    properties = replace(message.properties, headers={**seen, DELAY_HEADER: delay_ms})
    return replace(message, properties=properties, mandatory=False)


def _found(topology: Exchanges | None, name: str) -> DelayingExchange:
    if topology is None:
        raise ConfigurationError(
            "a delay needs a topology: App(topology=...) with the exchange and its 'delays:'"
        )
    if not name:
        raise ConfigurationError(
            "the default exchange has no delays: publish to an exchange of the topology"
        )
    exchange = topology.exchange(name)
    if exchange is None:
        raise ConfigurationError(
            f"the exchange {name!r} is not in {topology.file}, so its delays are not known"
        )
    if exchange.external:
        raise ConfigurationError(
            f"the exchange {name!r} is external in {topology.file}, so its delays are not known:"
            " declare it there with its type and its 'delays:'"
        )
    return exchange


def _without(name: str, exchange: DelayingExchange, delay_ms: int) -> str:
    asked = format_duration(delay_ms)
    if exchange.delays:
        return (
            f"the exchange {name!r} has no delay of {asked}: its delays are"
            f" {shown(exchange.delays)}"
        )
    return (
        f"the exchange {name!r} has no delays: write 'delays: [{asked}]' into the topology, or make"
        f" it of the type {DELAYED_TYPE}"
    )


def _milliseconds(delay: Span) -> int:
    """Rounded up: a message must not come before the time that was asked for."""
    if isinstance(delay, str):
        delay_ms = parse_duration(delay)
    else:
        from fractions import Fraction  # 5 ms, which few programs need

        # By its decimal digits: 2.3 seconds are 2300 ms, and not the 2299.99... of its bits.
        delay_ms = ceil(Fraction(repr(seconds(delay, "delay"))) * 1000)
    if not 1 <= delay_ms <= MAX_DURATION_MS:
        raise ConfigurationError(f"delay={delay!r}: expected 1ms to 49.7 days")
    return delay_ms
