"""mqkit_bench.broker.sync_mode: by what a broker says that it is."""

from __future__ import annotations

import pytest

from mqkit_bench.broker.sync_mode import NOT_KNOWN, sync_mode


@pytest.mark.parametrize(
    ("product", "mode"), [("RabbitMQ", "fsync"), ("LavinMQ", "none"), ("Brand X", NOT_KNOWN)]
)
def test_known_products_are_told(product: str, mode: str) -> None:
    assert sync_mode({"product": product}).startswith(mode)


def test_silence_is_not_known() -> None:
    assert sync_mode({}) == NOT_KNOWN
