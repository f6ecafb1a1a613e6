"""Seeds that have to find what a test has planted."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest

from reference_broker.simulation.cluster.world import ClusterWorld

SHOWED_AT = {
    "a_binding_does_not_touch_its_exchange": 19,
    "a_consumer_that_starved_is_not_fed": 28,
    "an_alarm_is_told_to_nobody": 12,
    "an_alarm_outlives_its_link": 12,
    "an_era_is_like_another": 25,
    "an_older_link_goes_on_beside_a_newer_one": 38,
    "an_unbound_exchange_is_not_retired": 12,
    "nobody_is_told_of_an_alarm": 12,
    "nobody_leaves_a_home": 7,
    "what_was_read_anew_was_told": 10,
    "what_was_sent_in_an_alarm_is_forgotten": 13,
}
"""The seed in which something that is planted showed last, where that is a later one: it is played
first."""


@pytest.fixture
def found_in(request: pytest.FixtureRequest) -> Callable[[Collection[int], str], None]:
    """Plays seeds until one fails with words of a law; ``laws`` has them of several, with ``|``
    between. Fails the test if none does."""
    first = SHOWED_AT.get(request.node.callspec.id)

    def play(seeds: Collection[int], laws: str) -> None:
        others: dict[str, None] = {}
        for seed in sorted(seeds, key=lambda seed: seed != first):
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
