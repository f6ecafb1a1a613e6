"""The options of handling: concurrency, prefetch, time."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.consumer.handling_options import PREFETCH_MAX, HandlingOptions, time_limit_s
from mqkit.errors import ConfigurationError


def test_a_handler_has_ten_messages_at_hand_unless_said_otherwise() -> None:
    assert HandlingOptions.of() == HandlingOptions(1, 10, None)
    assert HandlingOptions.of(concurrency=8, timeout="30s") == HandlingOptions(8, 80, 30.0)
    assert HandlingOptions.of(concurrency=8, prefetch=8).prefetch == 8
    assert HandlingOptions.of(concurrency=PREFETCH_MAX).prefetch == PREFETCH_MAX


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"concurrency": 0}, "concurrency=0: expected a whole number, 1 to 65535"),
        ({"concurrency": True}, "concurrency=True"),
        ({"concurrency": 1.5}, "concurrency=1.5"),
        ({"concurrency": 9, "prefetch": 3}, "prefetch=3: expected a whole number, 9 to 65535"),
        ({"prefetch": 65_536}, "prefetch=65536"),
        ({"timeout": 0}, "None is no timeout"),
        ({"timeout": "soon"}, "not a duration"),
    ],
)
def test_what_can_not_be_is_refused(options: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        HandlingOptions.of(**options)


def test_no_limit_is_no_limit() -> None:
    assert time_limit_s(None) is None
