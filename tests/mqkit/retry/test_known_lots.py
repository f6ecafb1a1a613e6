"""The parking lots that a file or a person has named, beside those named by their form."""

from __future__ import annotations

import pytest

from mqkit.retry.known_lots import KnownLots

KNOWN = KnownLots({"email-dlq": "email-queue", "old.parked": "new", "left": None})


@pytest.mark.parametrize(
    ("name", "is_lot", "owner"),
    [
        ("email-dlq", True, "email-queue"),
        ("old.parked", True, "new"),
        ("left", True, None),
        ("delays.parked", True, "delays"),
        ("email-queue", False, None),
        (".parked", False, None),
    ],
)
def test_a_lot_is_what_is_named_so_or_has_the_form(
    name: str, is_lot: bool, owner: str | None
) -> None:
    assert KNOWN.is_lot(name) is is_lot
    assert KNOWN.owner_of(name) == owner


def test_tiers_are_known_too() -> None:
    known = KnownLots(tiers={"email-queue.wait.5s": "email-queue"})
    assert known.is_tier("email-queue.wait.5s")
    assert known.is_tier("delays.retry.5s")
    assert not known.is_tier("email-queue")
