"""The batch that a handler gets."""

from __future__ import annotations

import pytest

from mqkit import (
    Batch,
    ConfigurationError,
    Delivery,
    Drop,
    Park,
    Properties,
    RetryLater,
    RetryPolicy,
)
from mqkit.consumer.settlement import QueueRules


def delivery(tag: int) -> Delivery:
    return Delivery("", "q", b"", Properties(), tag, False)


def test_it_is_a_sequence_of_its_items() -> None:
    batch = Batch(["a", "b", "c"], [delivery(1), delivery(2), delivery(3)])
    assert list(batch) == ["a", "b", "c"]
    assert (len(batch), batch[1], list(batch[1:])) == (3, "b", ["b", "c"])
    assert batch.raised == (None, None, None)


def test_an_item_is_named_by_itself_or_by_its_delivery() -> None:
    items = [["a"], ["a"], ["c"]]  # equal, but not the same
    deliveries = [delivery(1), delivery(2), delivery(3)]
    batch = Batch(items, deliveries)
    batch.retry(items[1], "5s", "locked")
    batch.park(deliveries[2], "bad")
    first, second, third = batch.raised
    assert first is None
    assert isinstance(second, RetryLater)
    assert (second.after_ms, second.reason) == (5000, "locked")
    assert isinstance(third, Park)
    assert third.reason == "bad"


def test_the_last_word_on_an_item_counts() -> None:
    items = [object()]
    batch = Batch(items, [delivery(1)])
    batch.retry(items[0])
    batch.park(items[0])
    assert isinstance(batch.raised[0], Park)


@pytest.mark.parametrize("shared", [b"", 7, "x" * 200])
def test_one_object_that_stands_for_several_messages_is_refused(shared: object) -> None:
    batch = Batch([shared, object(), shared], [delivery(1), delivery(2), delivery(3)])
    with pytest.raises(ConfigurationError, match=r"at 2 places of this batch.*entries\[i\]"):
        batch.park(shared)
    assert batch.raised == (None, None, None)
    batch.park(batch.deliveries[2])
    assert [signal is None for signal in batch.raised] == [True, True, False]


def test_a_delivery_that_is_its_own_item_is_one_place() -> None:
    only = delivery(1)
    batch = Batch([only], [only])
    batch.retry(only)
    batch.park(only)
    assert isinstance(batch.raised[0], Park)


def test_what_is_not_in_the_batch_is_refused() -> None:
    batch = Batch([object()], [delivery(1)])
    with pytest.raises(ConfigurationError, match="not an item"):
        batch.retry(object())


def test_each_message_has_an_entry_whose_outcome_is_its_own() -> None:
    same = "equal"
    deliveries = [delivery(tag) for tag in range(5)]
    batch = Batch([same] * 5, deliveries)
    assert [(entry.value, entry.delivery) for entry in batch.entries] == [
        (same, each) for each in deliveries
    ]
    error = ValueError("this one")
    batch.entries[0].retry("5s", "locked")
    batch.entries[1].park("bad")
    batch.entries[2].drop("old")
    batch.entries[3].fail(error)
    retried, parked, dropped, failed, acked = batch.raised
    assert isinstance(retried, RetryLater)
    assert (retried.after_ms, retried.reason) == (5000, "locked")
    assert isinstance(parked, Park)
    assert isinstance(dropped, Drop)
    assert failed is error
    assert acked is None


def test_the_last_word_counts_whichever_way_it_is_said() -> None:
    batch = Batch([object()], [delivery(1)])
    batch.park(batch[0])
    batch.entries[0].drop()
    assert isinstance(batch.raised[0], Drop)
    batch.retry(batch.deliveries[0])
    assert isinstance(batch.raised[0], RetryLater)


def test_an_error_about_an_item_does_not_show_it() -> None:
    batch = Batch(["secret", "secret"], [delivery(1), delivery(2)])
    with pytest.raises(ConfigurationError) as refused:
        batch.park("secret")
    assert "secret" not in str(refused.value)


def test_its_deliveries_count_their_attempts_by_the_rules_of_their_queue() -> None:
    rules = QueueRules("q", RetryPolicy.of("1s", "5s"))
    batch = Batch(["a"], [delivery(1)], rules)
    assert [each.attempts_left for each in batch.deliveries] == [2]
    assert batch.deliveries is batch.deliveries
    assert [each.attempts_left for each in Batch(["a"], [delivery(1)]).deliveries] == [None]
