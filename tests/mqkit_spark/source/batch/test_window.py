"""mqkit_spark.source.batch.window: small windows of large messages, large ones of small."""

from __future__ import annotations

import pytest

from mqkit_spark.source.batch.window import (
    FIRST_MESSAGES,
    MESSAGES_MAX,
    OCTETS_MAX,
    next_size,
)


@pytest.mark.parametrize(
    ("messages", "octets", "size"),
    [
        (0, 0, FIRST_MESSAGES),
        (20, 0, 80),
        (500, 500 * 100, MESSAGES_MAX),
        (20, 20 * OCTETS_MAX, 1),
        (1, 1, 4),
        (100, 100 * 100_000, OCTETS_MAX // 101_024),
    ],
)
def test_the_next_window(messages: int, octets: int, size: int) -> None:
    assert next_size(messages, octets) == size
