"""mqkit_spark.collector: rare inside of the block, as before behind it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from mqkit_spark.collector import OBJECTS, rare_collections


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("before", "inside"),
    [((700, 10, 10), OBJECTS), ((0, 10, 10), 0), ((OBJECTS + 1, 5, 5), OBJECTS + 1)],
)
def test_the_collector_waits(before: tuple[int, int, int], inside: int) -> None:
    gc.set_threshold(*before)
    with pytest.raises(KeyError), rare_collections():
        assert gc.get_threshold() == (inside, *before[1:])
        raise KeyError
    assert gc.get_threshold() == before
