"""mqkit_spark.options.checks: each check, at its edges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import pytest

from mqkit.errors import ConfigurationError
from mqkit_spark.options import checks


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Some:
    max_rows: int | None = None
    idle_timeout_s: float | None = None
    routing_key: str | None = None
    colour: Colour | None = None


def test_what_is_not_given_passes() -> None:
    some = Some()
    checks.at_least(some, 1, ("max_rows",))
    checks.positive_seconds(some, ("idle_timeout_s",))
    checks.short_strings(some, ("routing_key",))
    checks.choices(some, {"colour": Colour})
    assert some == Some()


def test_least_numbers() -> None:
    checks.at_least(Some(max_rows=1), 1, ("max_rows",))
    with pytest.raises(ConfigurationError, match="maxRows must be at least 1"):
        checks.at_least(Some(max_rows=0), 1, ("max_rows",))


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf, checks.SECONDS_MAX + 1.0])
def test_times_that_nobody_can_wait_for(seconds: float) -> None:
    with pytest.raises(ConfigurationError, match="idleTimeout must be more than 0 seconds"):
        checks.positive_seconds(Some(idle_timeout_s=seconds), ("idle_timeout_s",))
    checks.positive_seconds(Some(idle_timeout_s=checks.SECONDS_MAX), ("idle_timeout_s",))


def test_short_strings_are_counted_in_bytes() -> None:
    checks.short_strings(Some(routing_key="ä" * 127), ("routing_key",))
    with pytest.raises(ConfigurationError, match="routingKey has more than 255 bytes"):
        checks.short_strings(Some(routing_key="ä" * 128), ("routing_key",))


def test_text_becomes_the_member() -> None:
    some = Some(colour="RED")  # type: ignore[arg-type]
    checks.choices(some, {"colour": Colour})
    assert some.colour is Colour.RED
    with pytest.raises(ConfigurationError, match="option colour: expected one of red"):
        checks.choices(Some(colour="blue"), {"colour": Colour})  # type: ignore[arg-type]
