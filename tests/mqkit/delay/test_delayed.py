"""The way of a delayed message, and every delay that is refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from mqkit.delay import delayed
from mqkit.errors import ConfigurationError
from mqkit.message import Message, Properties
from mqkit.timing.seconds import Span
from mqkit.topology import loads

TOPOLOGY = loads(
    """
exchanges:
  orders: {type: topic, delays: [5m, 1h, 1500ms]}
  later: {type: x-delayed-message, arguments: {x-delayed-type: topic}}
  plain: {}
  other: {external: true}
""",
    "shop.yaml",
)
MESSAGE = Message("orders", "order.paid", b"{}", Properties(headers={"mine": 1}, message_id="m"))


def to(exchange: str) -> Message:
    return replace(MESSAGE, exchange=exchange)


def test_a_listed_delay_goes_to_its_own_exchange_with_everything_else_unchanged() -> None:
    assert delayed(TOPOLOGY, MESSAGE, "5m") == replace(MESSAGE, exchange="orders.delay.5m")
    assert delayed(TOPOLOGY, MESSAGE, "1h").mandatory


@pytest.mark.parametrize("delay", [300, 300.0, "5m", "300s", timedelta(minutes=5)])
def test_a_delay_is_taken_in_every_spelling(delay: Span) -> None:
    assert delayed(TOPOLOGY, MESSAGE, delay).exchange == "orders.delay.5m"


def test_a_delayed_exchange_has_any_delay_and_is_not_mandatory() -> None:
    message = delayed(TOPOLOGY, to("later"), "7m")
    assert (message.exchange, message.routing_key) == ("later", "order.paid")
    assert message.properties.headers == {"mine": 1, "x-delay": 420_000}
    assert not message.mandatory
    assert MESSAGE.properties.headers == {"mine": 1}  # the caller's own stays as it is


@pytest.mark.parametrize(
    ("delay", "ms"), [(2.3, 2_300), (4.35, 4_350), (0.0011, 2), (timedelta(microseconds=1), 1)]
)
def test_parts_of_a_millisecond_are_rounded_up_and_bits_are_not(delay: Span, ms: int) -> None:
    assert delayed(TOPOLOGY, to("later"), delay).properties.headers["x-delay"] == ms


@pytest.mark.parametrize(
    ("exchange", "delay", "said"),
    [
        ("orders", "7m", "'orders' has no delay of 7m: its delays are 1500ms, 5m, 1h"),
        ("plain", "7m", r"'plain' has no delays: write 'delays: \[7m\]' into the topology"),
        ("nowhere", "5m", r"'nowhere' is not in shop\.yaml"),
        ("other", "5m", "'other' is external"),
        ("", "5m", "the default exchange has no delays"),
        ("orders", 0, "expected 1ms to 49.7 days"),
        ("later", 0, "expected 1ms to 49.7 days"),
        ("later", "0s", "expected 1ms to 49.7 days"),
        ("later", 1e10, "expected 1ms to 49.7 days"),
        ("later", -1, "not negative"),
        ("later", float("nan"), "finite"),
        ("later", "soon", "not a duration"),
    ],
)
def test_every_other_delay_is_refused_in_words(exchange: str, delay: Span, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        delayed(TOPOLOGY, to(exchange), delay)


def test_a_delay_needs_a_topology() -> None:
    with pytest.raises(ConfigurationError, match=r"App\(topology=\.\.\.\)"):
        delayed(None, MESSAGE, "5m")


def test_a_ttl_of_the_message_would_end_it_in_the_delay() -> None:
    expiring = replace(MESSAGE, properties=Properties(expiration_ms=1_000))
    with pytest.raises(ConfigurationError, match="message_ttl"):
        delayed(TOPOLOGY, expiring, "5m")
    # A delayed exchange gives it to its queues first, and the TTL counts from there.
    later = delayed(TOPOLOGY, replace(expiring, exchange="later"), "5m")
    assert later.properties.expiration_ms == 1_000


def test_a_header_that_says_another_delay_is_refused() -> None:
    said = replace(to("later"), properties=Properties(headers={"x-delay": 5}))
    with pytest.raises(ConfigurationError, match="x-delay already"):
        delayed(TOPOLOGY, said, "5m")
