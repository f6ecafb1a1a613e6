"""The check of what a middleware returns."""

from __future__ import annotations

import pytest

from mqkit.errors import ConfigurationError
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.publishing.checked_outcome import checked_outcome


class Audit:
    """A middleware that is no function."""


@pytest.mark.parametrize(
    "outcome",
    [Confirmed(), Rejected(RejectReason.NACKED, "full"), Unknown("cut", sent=True)],
    ids=["confirmed", "rejected", "unknown"],
)
def test_an_outcome_is_returned_as_it_is(outcome: Outcome) -> None:
    assert checked_outcome(print, outcome, "return it") is outcome


def test_anything_else_names_the_middleware_and_what_to_write() -> None:
    with pytest.raises(ConfigurationError, match=r"Audit returned 'x{79} and not .*: return it$"):
        checked_outcome(Audit(), "x" * 200, "return it")
