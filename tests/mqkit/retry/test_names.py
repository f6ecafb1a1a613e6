"""Names of tiers and parking lots, there and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import MAX_DURATION_MS
from mqkit.retry.names import (
    BY_FORM,
    RetryNames,
    is_parking_lot,
    owner_of_parking_lot,
    owner_of_tier,
    parking_lot_name,
    tier_name,
)


def test_the_names() -> None:
    assert tier_name("delays", 5_000) == "delays.retry.5s"
    assert parking_lot_name("delays") == "delays.parked"


@given(st.text(min_size=1), st.integers(0, MAX_DURATION_MS))
def test_a_name_leads_back_to_its_queue(queue: str, after_ms: int) -> None:
    assert owner_of_tier(tier_name(queue, after_ms)) == (queue, after_ms)
    assert owner_of_parking_lot(parking_lot_name(queue)) == queue


@pytest.mark.parametrize(
    "name", ["delays", "delays.retry.", ".retry.5s", "delays.retry.60s", "delays.retry.soon"]
)
def test_other_names_are_no_tiers(name: str) -> None:
    assert owner_of_tier(name) is None


@pytest.mark.parametrize("name", ["delays", ".parked", "parked", "delays.parked.old"])
def test_other_names_are_no_parking_lots(name: str) -> None:
    assert not is_parking_lot(name)
    assert owner_of_parking_lot(name) is None


MAIL = RetryNames("email-dlq", "email-queue.wait.{after}")


def test_names_that_nobody_gives_are_those_of_old() -> None:
    assert BY_FORM.lot("delays") == "delays.parked"
    assert BY_FORM.tier("delays", 5_000) == "delays.retry.5s"
    assert RetryNames() == BY_FORM


def test_names_that_are_given_are_taken() -> None:
    assert MAIL.lot("email-queue") == "email-dlq"
    assert MAIL.tier("email-queue", 90_000) == "email-queue.wait.90s"
    only = RetryNames(tiers="later")
    assert (only.tier("q", 5_000), only.lot("q")) == ("later", "q.parked")


@given(
    st.text(max_size=9).filter(lambda text: not {*text} & {*"{}"}),
    st.text(max_size=9).filter(lambda text: not {*text} & {*"{}"}),
    st.integers(0, MAX_DURATION_MS),
)
def test_a_tiers_name_says_its_waiting_time(before: str, behind: str, after_ms: int) -> None:
    names = RetryNames(tiers=f"{before}{{after}}{behind}")
    assert names.after_of("q", names.tier("q", after_ms)) == after_ms
    assert BY_FORM.after_of("q", BY_FORM.tier("q", after_ms)) == after_ms
    assert BY_FORM.after_of("other", BY_FORM.tier("q", after_ms)) is None


@pytest.mark.parametrize("name", ["email-queue.wait.60s", "email-queue.wait.", "wait.5s", "5s"])
def test_other_names_say_none(name: str) -> None:
    assert MAIL.after_of("email-queue", name) is None
    assert RetryNames(tiers="later").after_of("q", "later") is None


@pytest.mark.parametrize(
    ("park", "tiers", "words"),
    [
        ("", None, "'park' is empty"),
        ("amq.dlq", None, "reserved for the broker"),
        ("é" * 128, None, "'park' makes a name of 256 bytes"),
        (None, "", "'tiers' is empty"),
        (None, "w.{wait}", "has {wait}: its only placeholder is {after}"),
        (None, "w.{after}.{n}", "has {n}: its only placeholder"),
        (None, "w.{after}{after}", "has {after}: its only placeholder is {after}, the waiting"),
        (None, "w.{after", "has a lone brace"),
        (None, "w.}", "has a lone brace"),
    ],
)
def test_what_can_be_no_name_is_refused(park: str | None, tiers: str | None, words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        RetryNames(park, tiers)
    assert words in str(caught.value)


def test_a_pattern_without_a_place_for_the_time_is_good_for_one_tier() -> None:
    RetryNames(tiers="later").check([5_000])
    with pytest.raises(ConfigurationError) as caught:
        RetryNames(tiers="later").check([5_000, 90_000])
    assert "names one tier, and this policy has 2 (5s, 90s)" in str(caught.value)
    assert str(caught.value).endswith("write 'later.{after}'")


def test_names_of_tiers_are_bounded_as_all_names_are() -> None:
    longest = RetryNames(tiers="q" * 253 + "{after}")
    longest.check([5_000])
    with pytest.raises(ConfigurationError, match="a name of 256 bytes"):
        longest.check([5_000, 10_000])
    with pytest.raises(ConfigurationError, match="reserved"):
        RetryNames(tiers="amq.{after}").check([1])
