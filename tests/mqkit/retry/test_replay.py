"""Bounds of a replay that show before it starts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit.message import Delivery, Properties
from mqkit.retry.known_lots import KnownLots
from mqkit.retry.parked import ParkedMessage, Selection
from mqkit.retry.replay import WINDOW, ReplayRequest


def request(**options: Any) -> ReplayRequest:
    return ReplayRequest("q.parked", "q", Selection(), **options)


@pytest.mark.parametrize(
    ("rate", "window"), [(None, WINDOW), (0.5, 1), (1.0, 1), (50.0, 50), (10_000.0, WINDOW)]
)
def test_no_more_go_out_together_than_the_rate_allows_in_a_second(
    rate: float | None, window: int
) -> None:
    assert request(rate_per_s=rate).window == window


@pytest.mark.parametrize("options", [{"limit": 0}, {"rate_per_s": 0.0}, {"rate_per_s": -1.0}])
def test_a_replay_of_nothing_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        request(**options)


def lying(*died_in: str) -> ParkedMessage:
    headers = {"x-death": [{"queue": queue} for queue in died_in]}
    delivery = Delivery("", "dlq", b"", Properties(headers=headers), 1, redelivered=False)
    return ParkedMessage.of(delivery, "dlq", KnownLots({"dlq": None}))


@pytest.mark.parametrize(
    ("to", "message", "target"),
    [
        (None, lying("sms"), "sms"),
        ("mail", lying("sms"), "mail"),
        ("mail", lying(), "mail"),
        (None, lying(), ""),
        (None, replace(lying("sms"), queue="dlq"), ""),
    ],
)
def test_without_a_target_each_message_goes_back_to_its_own_queue_and_never_into_the_lot(
    to: str | None, message: ParkedMessage, target: str
) -> None:
    assert ReplayRequest("dlq", to, Selection()).target_of(message) == target
