"""The sum of a column, against ``sum``."""

from __future__ import annotations

from array import array
from random import Random

import pytest

from reference_broker.core.index.column_sum import column_sum

LARGEST = (1 << 32) - 1


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 127, 1_001, 4_095, 4_096, 4_097, 9_000])
def test_it_is_the_sum(count: int) -> None:
    seed = count
    random = Random(seed)
    for column in (
        [random.randint(0, LARGEST) for _ in range(count)],
        [LARGEST] * count,
        [0] * count,
        [0] * (count - 1) + [LARGEST] * bool(count),
    ):
        assert column_sum(array("I", column)) == sum(column), f"seed {seed}"
