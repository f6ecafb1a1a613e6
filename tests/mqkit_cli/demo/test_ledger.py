"""The ledger: sets of ids, compared."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqkit_cli.demo.journal import Entry, Event
from mqkit_cli.demo.ledger import SHOWN_IDS, settle


def entries(*identities: str, queue: str = "q") -> list[Entry]:
    return [(queue, identity) for identity in identities]


def test_a_good_run_adds_up_and_ends_with_lost_0() -> None:
    ledger = settle(
        {
            Event.PUBLISHED: entries("a", "b", "c"),
            Event.CONFIRMED: entries("a", "b", "c"),
            Event.PROCESSED: entries("b", "a", "c"),
            Event.RETRIED: entries("a", "a", "c"),
            Event.PARKED: entries("c"),
            Event.REPLAYED: entries("c"),
        },
        with_spark=False,
    )
    assert ledger.is_good
    assert [" ".join(row) for row in ledger.lines()] == [
        "published 3",
        "confirmed 3",
        "processed 3",
        "retried 2",
        "parked 1",
        "replayed 1",
        "duplicates seen 0",
        "lost 0",
    ]


def test_counts_that_agree_do_not_hide_a_loss() -> None:
    """Three were confirmed and three lines were processed, but not the same ones."""
    ledger = settle(
        {
            Event.PUBLISHED: entries("a", "b", "c"),
            Event.CONFIRMED: entries("a", "b", "c"),
            Event.PROCESSED: entries("a", "b", "b"),
        },
        with_spark=False,
    )
    assert (ledger.lost, ledger.duplicates, ledger.is_good) == ((("q", "c"),), 1, False)
    assert ledger.lines()[-1] == ("lost", "1")
    assert ledger.lost_words() == "c (q)"


def test_a_message_for_two_queues_must_arrive_in_both() -> None:
    both = [*entries("a"), *entries("a", queue="other")]
    lines = {Event.PUBLISHED: both, Event.CONFIRMED: both, Event.PROCESSED: entries("a")}
    ledger = settle(lines, with_spark=False)
    assert (ledger.published, ledger.lost) == (1, (("other", "a"),))


def test_what_spark_sank_must_be_read_back() -> None:
    lines = {Event.SUNK: entries("a", "b"), Event.STORED: entries("b", "b")}
    ledger = settle(lines, with_spark=True)
    assert (ledger.sunk, ledger.stored, ledger.duplicates) == (2, 1, 1)
    assert ledger.lost == (("q", "a"),)
    assert ("sunk by Spark", "2") in ledger.lines()


def test_a_message_without_a_confirm_is_not_lost_but_not_good() -> None:
    ledger = settle({Event.PUBLISHED: entries("a")}, with_spark=False)
    assert (ledger.lost, ledger.unconfirmed, ledger.is_good) == ((), (("q", "a"),), False)
    assert ("never confirmed", "1") in ledger.lines()


def test_only_the_first_lost_ids_are_named() -> None:
    many = entries(*(f"m{number}" for number in range(SHOWN_IDS + 2)))
    ledger = settle({Event.CONFIRMED: many}, with_spark=False)
    assert ledger.lost_words().endswith("m4 (q) and 2 more")


IDS = st.lists(st.sampled_from("abcdef"), max_size=12)


@given(IDS, IDS)
def test_lost_is_what_was_confirmed_and_not_processed(sent: list[str], done: list[str]) -> None:
    lines = {Event.CONFIRMED: entries(*sent), Event.PROCESSED: entries(*done)}
    ledger = settle(lines, with_spark=False)
    assert {identity for _, identity in ledger.lost} == set(sent) - set(done)
    assert ledger.duplicates == len(done) - len(set(done))
