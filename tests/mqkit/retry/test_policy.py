"""The decision after a failure."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.errors import ConfigurationError
from mqkit.retry import Drop, Growth, Park, RetryLater, RetryNames, RetryPolicy, Then
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
def test_retry_later_takes_the_shortest_tier_not_shorter(after: Any, tier_ms: int) -> None:
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
    asked = timedelta(milliseconds=asked_ms)
    raised = RetryLater() if asked_ms > after[-1] else RetryLater(after=asked)
    while isinstance(action := policy.decide(failures, raised), RetryAction):
        assert action.after_ms in policy.tiers
        failures += 1
    assert failures == len(after)


# -- rules by exception ------------------------------------------------------------------------

RULED = RetryPolicy.of(
    "10s",
    "30s",
    "60s",
    errors={TimeoutError: ["1s", "5s"], "KeyError": "park", LookupError: "drop"},
)


def test_a_rule_has_waiting_times_of_its_own() -> None:
    assert RULED.decide(0, TimeoutError()) == RetryAction(1_000)
    assert RULED.decide(0, OOPS) == RetryAction(10_000)


def test_failures_have_one_count_over_all_errors() -> None:
    assert RULED.decide(1, TimeoutError()) == RetryAction(5_000)
    assert RULED.decide(2, OOPS) == RetryAction(60_000)
    assert RULED.decide(2, TimeoutError()) == ParkAction("still failing after 2 retries")
    assert RULED.decide(3, OOPS) == ParkAction("still failing after 3 retries")


def test_a_rule_may_end_a_message_at_its_first_failure() -> None:
    assert RULED.decide(0, KeyError("x")) == ParkAction("the rule of KeyError says park")
    assert RULED.decide(0, IndexError()) == DiscardAction(
        "the rule of builtins.LookupError says drop"
    )


def test_a_rule_that_parks_gives_a_dropping_policy_a_parking_lot() -> None:
    policy = RetryPolicy.of("1s", then=Then.DROP, errors={"KeyError": "park"})
    assert policy.parks
    assert isinstance(policy.decide(0, KeyError()), ParkAction)
    assert isinstance(policy.decide(0, Park("asked")), ParkAction)
    assert isinstance(policy.decide(1, OOPS), DiscardAction)


def test_signals_follow_no_rule() -> None:
    policy = RetryPolicy.of("1s", "5s", errors={"Exception": "drop"})
    assert policy.decide(0, RetryLater()) == RetryAction(1_000)
    assert policy.decide(0, Park("bad")) == ParkAction("bad")
    assert isinstance(policy.decide(0, OOPS), DiscardAction)


def test_tiers_are_those_of_all_lists_each_once_and_retry_later_may_take_any() -> None:
    policy = RetryPolicy.of("5s", "30s", errors={"KeyError": ["1s", "30s", "2m"]})
    assert policy.tiers == (1_000, 5_000, 30_000, 120_000)
    assert policy.decide(0, RetryLater(after="31s")) == RetryAction(120_000)
    assert policy.decide(0, RetryLater(after="1s")) == RetryAction(1_000)


def test_all_tiers_of_a_queue_together_are_bounded() -> None:
    after = tuple(range(1, MAX_TIERS + 1))
    shared = RetryPolicy.of(*(f"{ms}ms" for ms in after), errors={"KeyError": ["1ms", "32ms"]})
    assert len(shared.tiers) == MAX_TIERS
    with pytest.raises(ConfigurationError, match="at most 32 retry tiers, and these rules make 33"):
        RetryPolicy.of(*(f"{ms}ms" for ms in after), errors={"KeyError": ["33ms"]})


# -- growth and jitter -------------------------------------------------------------------------

GROWN = RetryPolicy.growing("1s", factor=2, most="5m", times=8, jitter=0.2)


def test_growth_compiles_to_waiting_times() -> None:
    plain = RetryPolicy.growing("1s", times=4)
    assert plain.after == (1_000, 2_000, 4_000, 8_000)
    assert plain.tiers == plain.after
    assert [plain.decide(n, OOPS) for n in range(4)] == [RetryAction(ms) for ms in plain.after]


@pytest.mark.parametrize(
    ("drawn", "tier_ms"), [(0.0, 1_600), (0.34, 2_000), (0.67, 2_400), (1.0, 2_400)]
)
def test_jitter_draws_among_fixed_tiers(drawn: float, tier_ms: int) -> None:
    assert GROWN.decide(1, OOPS, rng=lambda: drawn) == RetryAction(tier_ms)
    assert tier_ms in GROWN.tiers


def test_jitter_has_tiers_of_its_own_and_asks_for_them_in_words_when_they_are_too_many() -> None:
    assert len(GROWN.tiers) == 24
    with pytest.raises(ConfigurationError, match=r"make 33 \(jitter makes up to three"):
        RetryPolicy.growing("1s", times=11, jitter=0.2)


def test_retry_later_is_not_jittered_and_rules_are_not() -> None:
    policy = RetryPolicy.growing("1s", times=2, jitter=0.5, errors={"KeyError": ["1s"]})
    assert policy.decide(0, KeyError(), rng=lambda: 0.0) == RetryAction(1_000)
    assert policy.decide(0, RetryLater(after="1s"), rng=lambda: 0.0) == RetryAction(1_000)
    assert policy.decide(0, RetryLater(), rng=lambda: 0.0) == RetryAction(500)


def test_a_list_that_is_not_what_the_growth_makes_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="give one"):
        RetryPolicy((5,), growth=Growth(1, 1))


# -- giving up ---------------------------------------------------------------------------------

IMPATIENT = RetryPolicy.of("1s", "10m", "10m", give_up_after="15m")


def test_a_retry_that_would_end_too_late_is_not_made() -> None:
    assert IMPATIENT.decide(1, OOPS, elapsed_ms=300_000) == RetryAction(600_000)
    assert IMPATIENT.decide(1, OOPS, elapsed_ms=300_001) == ParkAction(
        "given up after 15m (it first failed 300 s ago, and the next retry would wait 10m)"
    )


def test_a_failure_after_the_time_is_parked_and_dropped_where_the_policy_drops() -> None:
    assert isinstance(IMPATIENT.decide(0, OOPS, elapsed_ms=10**9), ParkAction)
    dropping = RetryPolicy.of("1s", then=Then.DROP, give_up_after="1s")
    assert isinstance(dropping.decide(0, OOPS, elapsed_ms=1), DiscardAction)


def test_retry_later_is_not_made_too_late_either() -> None:
    assert isinstance(IMPATIENT.decide(0, RetryLater("10m"), elapsed_ms=300_001), ParkAction)
    assert IMPATIENT.decide(0, RetryLater("1s"), elapsed_ms=899_000) == RetryAction(1_000)


def test_jitter_draws_among_the_tiers_that_end_in_time() -> None:
    policy = RetryPolicy.growing("10s", times=1, jitter=0.5, give_up_after="20s")
    assert policy.decide(0, OOPS, elapsed_ms=10_000, rng=lambda: 0.0) == RetryAction(5_000)
    assert policy.decide(0, OOPS, elapsed_ms=10_000, rng=lambda: 0.6) == RetryAction(10_000)
    assert policy.decide(0, OOPS, elapsed_ms=10_000, rng=lambda: 1.0) == RetryAction(10_000)


def test_giving_up_before_the_first_retry_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="give_up_after: 10s is shorter"):
        RetryPolicy.of("30s", give_up_after="10s")


# -- names -------------------------------------------------------------------------------------


def test_names_are_part_of_a_policy() -> None:
    names = RetryNames("email-dlq", "wait.{after}")
    policy = RetryPolicy.of("1s", park="email-dlq", tiers="wait.{after}")
    assert policy.names == names
    assert policy == RetryPolicy((1_000,), names=names)
    assert policy != RetryPolicy.of("1s")
    grown = RetryPolicy.growing("1s", times=2, park="email-dlq", tiers="wait.{after}")
    assert grown.names == names


def test_a_policy_that_never_parks_names_no_lot() -> None:
    with pytest.raises(ConfigurationError, match="'park: lot' beside 'then: drop'"):
        RetryPolicy.of("1s", then=Then.DROP, park="lot")
    parks = RetryPolicy.of("1s", then=Then.DROP, errors={"KeyError": "park"}, park="lot")
    assert parks.names.park == "lot"


def test_one_name_is_not_enough_for_several_tiers() -> None:
    with pytest.raises(ConfigurationError, match="has 2"):
        RetryPolicy.of("1s", errors={"KeyError": ["5s"]}, tiers="later")
    assert RetryPolicy.of("1s", "1s", tiers="later").tiers == (1_000,)
