"""Seeds that have to find what a test has planted."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest

from reference_broker.simulation.cluster.world import ClusterWorld


@pytest.fixture
def found_in() -> Callable[[Collection[int], str], None]:
    """Plays seeds until one fails with words of a law; ``laws`` has them of several, with ``|``
    between. Fails the test if none does."""

    def play(seeds: Collection[int], laws: str) -> None:
        others: dict[str, None] = {}
        for seed in seeds:
            failure = _failure_of(seed)
            if failure is not None and any(law in failure for law in laws.split("|")):
                print(f"seed {seed}: {failure}")
                return
            others[str(failure)] = None
        pytest.fail(f"not found in {len(seeds)} seeds, but {list(others)}")

    return play


def _failure_of(seed: int) -> str | None:
    try:
        return ClusterWorld(seed).run().failure
    except KeyError as error:  # what has to be there is not
        return f"KeyError: {error}"
