"""The batch that a handler gets."""

from __future__ import annotations

import pytest

from mqkit import Batch, ConfigurationError, Delivery, Park, Properties, RetryLater


def delivery(tag: int) -> Delivery:
    return Delivery("", "q", b"", Properties(), tag, False)


def test_it_is_a_sequence_of_its_items() -> None:
    batch = Batch(["a", "b", "c"], [delivery(1), delivery(2), delivery(3)])
    assert list(batch) == ["a", "b", "c"]
    assert (len(batch), batch[1], list(batch[1:])) == (3, "b", ["b", "c"])
    assert batch.signals == (None, None, None)


def test_an_item_is_named_by_itself_or_by_its_delivery() -> None:
    items = [["a"], ["a"], ["c"]]  # equal, but not the same
    deliveries = [delivery(1), delivery(2), delivery(3)]
    batch = Batch(items, deliveries)
    batch.retry(items[1], "5s", "locked")
    batch.park(deliveries[2], "bad")
    first, second, third = batch.signals
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
    assert isinstance(batch.signals[0], Park)


@pytest.mark.parametrize("shared", [b"", 7, "x" * 200])
def test_one_object_that_stands_for_several_messages_is_refused(shared: object) -> None:
    batch = Batch([shared, object(), shared], [delivery(1), delivery(2), delivery(3)])
    with pytest.raises(ConfigurationError, match=r"at 2 places of this batch.*deliveries\[i\]"):
        batch.park(shared)
    assert batch.signals == (None, None, None)
    batch.park(batch.deliveries[2])
    assert [signal is None for signal in batch.signals] == [True, True, False]


def test_a_delivery_that_is_its_own_item_is_one_place() -> None:
    only = delivery(1)
    batch = Batch([only], [only])
    batch.retry(only)
    batch.park(only)
    assert isinstance(batch.signals[0], Park)


def test_what_is_not_in_the_batch_is_refused() -> None:
    batch = Batch([object()], [delivery(1)])
    with pytest.raises(ConfigurationError, match="not an item"):
        batch.retry(object())
