"""mixing: even, and the same everywhere."""

from __future__ import annotations

from collections import Counter

from reference_broker.core.base.splitmix import Draws, hash_of, mixed


def test_published_values_of_splitmix64() -> None:
    draws = Draws(1234567)
    assert [draws.below(1 << 64) for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_draws_are_even_and_repeat_with_the_seed() -> None:
    draws, again = Draws(7), Draws(7)
    drawn = [draws.below(10) for _ in range(10_000)]
    assert drawn == [again.below(10) for _ in range(10_000)]
    assert all(abs(count - 1000) < 120 for count in Counter(drawn).values())
    assert len(Counter(drawn)) == 10


def test_hashes_do_not_change_between_releases() -> None:
    assert hash_of(b"") == 0xE4A6A0577479B2B4
    assert mixed(1) == 0x5692161D100B05E5
