"""event_history: what followed a revision, as far back as is kept."""

from __future__ import annotations

from reference_broker.cluster.coordinator import Changed, Event
from reference_broker.cluster.metadata.event_history import (
    EVENT_OVERHEAD_BYTES,
    EventHistory,
    Portion,
    cost,
)

ALL = 1 << 30


def _events(revision: int, *sizes: int) -> tuple[Event, ...]:
    return tuple(
        Event(f"k{number}", b"v" * size, revision) for number, size in enumerate(sizes or (1,))
    )


def _changed(revision: int, *sizes: int) -> Changed:
    return Changed(revision, _events(revision, *sizes))


def _history(transactions_max: int = 10, bytes_max: int = ALL) -> EventHistory:
    """Read at 5, and then three transactions."""
    history = EventHistory(transactions_max, bytes_max)
    history.begin(5)
    for revision in (7, 8, 10):
        history.add(revision, _events(revision))
    return history


def test_it_has_what_followed_a_revision() -> None:
    history = _history()
    last = _changed(10)
    assert history.after(5, ALL) == Portion((_changed(7), _changed(8), last), 10, more=False)
    assert history.after(6, ALL) == history.after(5, ALL)
    assert history.after(7, ALL) == Portion((_changed(8), last), 10, more=False)
    assert history.after(9, ALL) == Portion((last,), 10, more=False)
    assert history.after(10, ALL) == Portion((), 10, more=False)


def test_it_does_not_have_what_it_was_not_told() -> None:
    history = _history()
    assert history.after(4, ALL) is None
    assert history.after(11, ALL) is None


def test_progress_without_changes_reaches_further() -> None:
    history = _history()
    history.add(20, ())
    assert len(history) == 3
    assert history.after(10, ALL) == Portion((), 20, more=False)
    assert history.after(8, ALL) == Portion((_changed(10),), 20, more=False)


def test_a_portion_ends_with_the_transaction_that_goes_beyond_its_octets() -> None:
    history = _history()
    history.add(12, ())
    one = cost(_events(7))
    assert history.after(5, 1) == Portion((_changed(7),), 7, more=True)
    assert history.after(5, one) == Portion((_changed(7),), 7, more=True)
    assert history.after(5, one + 1) == Portion((_changed(7), _changed(8)), 8, more=True)
    assert history.after(8, 1) == Portion((_changed(10),), 12, more=False)


def test_a_transaction_is_never_cut() -> None:
    history = EventHistory()
    history.begin(5)
    history.add(6, _events(6, 1_000, 1_000, 1_000))
    history.add(7, _events(7))
    assert history.after(5, 10) == Portion((_changed(6, 1_000, 1_000, 1_000),), 6, more=True)


def test_the_oldest_transactions_go_when_there_are_too_many() -> None:
    history = _history(transactions_max=2)
    assert (len(history), history.known_after) == (2, 7)
    assert history.after(6, ALL) is None
    assert history.after(7, ALL) == Portion((_changed(8), _changed(10)), 10, more=False)


def test_the_oldest_transactions_go_when_they_have_too_many_octets() -> None:
    one = EVENT_OVERHEAD_BYTES + len("k0") + 100
    history = EventHistory(bytes_max=2 * one)
    history.begin(5)
    for revision in (6, 7, 8):
        history.add(revision, _events(revision, 100))
    assert (len(history), history.known_after) == (2, 6)
    history.add(9, _events(9, 3 * one))
    assert (len(history), history.known_after) == (0, 9)
    assert history.after(8, ALL) is None
    assert history.after(9, ALL) == Portion((), 9, more=False)
    history.add(10, _events(10, 100))
    history.add(11, _events(11, 100))
    assert history.after(9, ALL) == Portion((_changed(10, 100), _changed(11, 100)), 11, more=False)


def test_a_reading_anew_empties_it() -> None:
    history = _history()
    history.begin(30)
    assert len(history) == 0
    assert history.after(10, ALL) is None
    assert history.after(30, ALL) == Portion((), 30, more=False)


def test_a_key_that_went_has_no_value_to_count() -> None:
    assert cost([Event("key", None, 6)]) == EVENT_OVERHEAD_BYTES + 3
