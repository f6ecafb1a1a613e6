"""The decision after a failure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.errors import ConfigurationError
from mqkit.retry import Drop, Park, RetryLater, RetryPolicy, Then
from mqkit.retry.policy import MAX_TIERS, DiscardAction, ParkAction, RetryAction

POLICY = RetryPolicy.of("1s", "5s", "30s", "5m")
OOPS = ValueError("oops")

rising = st.lists(st.integers(1, 10**6), min_size=1, max_size=MAX_TIERS).map(
    lambda times: tuple(sorted(times))
)


def test_each_failure_waits_in_the_next_tier_and_the_last_is_parked() -> None:
    actions = [POLICY.decide(failures, OOPS) for failures in range(5)]
    assert actions[:4] == [RetryAction(ms) for ms in (1_000, 5_000, 30_000, 300_000)]
    assert actions[4] == ParkAction("still failing after 4 retries")


def test_then_drop_discards_at_the_end_and_in_place_of_parking() -> None:
    policy = RetryPolicy.of("1s", then=Then.DROP)
    assert isinstance(policy.decide(1, OOPS), DiscardAction)
    assert isinstance(policy.decide(0, Park("bad")), DiscardAction)
    assert not policy.parks


@pytest.mark.parametrize(
    ("after", "tier_ms"), [("200ms", 1_000), ("1s", 1_000), ("2s", 5_000), ("31s", 300_000)]
)
def test_retry_later_takes_the_shortest_tier_not_shorter(after: str, tier_ms: int) -> None:
    assert POLICY.decide(0, RetryLater(after=after)) == RetryAction(tier_ms)


@pytest.mark.parametrize("failures", [0, 4, 99])
def test_retry_later_beyond_the_last_tier_is_refused_with_the_tiers_named(failures: int) -> None:
    with pytest.raises(ConfigurationError, match=r"'6m'.*the tiers are 1s, 5s, 30s, 5m"):
        POLICY.decide(failures, RetryLater(after="6m"))


def test_retry_later_uses_up_attempts_so_that_nothing_goes_round_for_ever() -> None:
    assert POLICY.decide(3, RetryLater(after="1s")) == RetryAction(1_000)
    assert isinstance(POLICY.decide(4, RetryLater(after="1s")), ParkAction)
    assert POLICY.decide(1, RetryLater()) == RetryAction(5_000)


def test_park_and_drop_act_at_once() -> None:
    assert POLICY.decide(0, Park("bad VAT id")) == ParkAction("bad VAT id")
    assert POLICY.decide(0, Drop("seen before")) == DiscardAction("seen before")


def test_equal_waiting_times_are_retries_of_one_tier() -> None:
    policy = RetryPolicy.of("1s", "1s", "5s")
    assert policy.tiers == (1_000, 5_000)
    assert policy.decide(1, OOPS) == RetryAction(1_000)


@pytest.mark.parametrize(
    ("after", "said"),
    [((), "1 to 32"), ((0,), "at least 1ms"), ((5_000, 1_000), "1s comes after 5s")],
)
def test_a_policy_that_can_not_be_kept_is_refused(after: tuple[int, ...], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        RetryPolicy(after)


def test_the_bound_on_tiers() -> None:
    RetryPolicy(tuple(range(1, MAX_TIERS + 1)))
    with pytest.raises(ConfigurationError, match="33"):
        RetryPolicy(tuple(range(1, MAX_TIERS + 2)))


@given(rising, st.integers(0, 10**6))
def test_every_message_ends(after: tuple[int, ...], asked_ms: int) -> None:
    policy = RetryPolicy(after)
    failures = 0
    raised = RetryLater() if asked_ms > after[-1] else RetryLater(after=f"{asked_ms}ms")
    while isinstance(action := policy.decide(failures, raised), RetryAction):
        assert action.after_ms in policy.tiers
        failures += 1
    assert failures == len(after)
