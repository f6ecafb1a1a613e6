"""mqkit.sync.surrounded: single messages and batches, on a publisher that writes down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mqkit.errors import Closed
from mqkit.message import Message
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason
from mqkit.sync import PublishMiddleware, PublishNext
from mqkit.sync.surrounded import PART, SurroundedPublisher

REFUSED = Rejected(RejectReason.REFUSED)
LONG_S = 100.0


class Written:
    """A publisher that confirms everything. ``said`` has the routing keys of each publish."""

    def __init__(self) -> None:
        self.said: list[list[str]] = []
        self.deadlines_s: list[Any] = []
        self.problem: Exception | None = None

    def publish(
        self,
        messages: Sequence[Message],
        deadline_s: float | None = None,
        resend: bool = True,
        on_blocked: Any = None,
    ) -> list[Outcome]:
        assert (resend, on_blocked) == (False, "fail")
        if self.problem is not None:
            raise self.problem
        self.said.append([message.routing_key for message in messages])
        self.deadlines_s.append(deadline_s)
        return [Confirmed(message.routing_key) for message in messages]


Publish = Callable[..., list[Outcome]]


@pytest.fixture
def written() -> Written:
    return Written()


def publishing(written: Written, *around: PublishMiddleware) -> Publish:
    publisher = SurroundedPublisher(written, around, LONG_S)

    def publish(*keys: str, deadline_s: float | None = None) -> list[Outcome]:
        messages = [Message("", key, b"") for key in keys]
        return publisher.publish(messages, deadline_s, False, "fail")

    return publish


def adding(mark: str) -> PublishMiddleware:
    def add(message: Message, publish: PublishNext) -> Outcome:
        return publish(Message("", message.routing_key + mark, b""))

    return add


def raising_at(key: str, *, after: bool = False) -> PublishMiddleware:
    def fail(message: Message, publish: PublishNext) -> Outcome:
        if message.routing_key != key:
            return publish(message)
        if after:
            publish(message)
        raise ValueError(key)

    return fail


@pytest.mark.parametrize("keys", [("a",), ("a", "b", "c")])
def test_the_first_is_the_outermost_and_a_batch_stays_one_in_order(
    written: Written, keys: tuple[str, ...]
) -> None:
    outcomes = publishing(written, adding("1"), adding("2"))(*keys)
    assert outcomes == [Confirmed(f"{key}12") for key in keys]
    assert written.said == [[f"{key}12" for key in keys]]


def test_a_batch_of_any_size_goes_in_parts_under_one_deadline(written: Written) -> None:
    keys = [str(number) for number in range(2 * PART + 1)]
    middleware = [adding(str(number)) for number in range(5)]
    assert len(publishing(written, *middleware)(*keys, deadline_s=5.0)) == len(keys)
    assert [len(said) for said in written.said] == [PART, PART, 1]
    assert [key for said in written.said for key in said] == [f"{key}01234" for key in keys]
    first, *later = written.deadlines_s
    assert first == 5.0
    assert all(0 < left <= 5.0 for left in later)
    assert later == sorted(later, reverse=True)


def test_who_answers_for_itself_is_not_in_the_batch(written: Written) -> None:
    def refuse_b(message: Message, publish: PublishNext) -> Outcome:
        return REFUSED if message.routing_key == "b" else publish(message)

    publish = publishing(written, refuse_b)
    assert publish("a", "b", "c") == [Confirmed("a"), REFUSED, Confirmed("c")]
    assert publish("b", "b") == [REFUSED, REFUSED]
    assert written.said == [["a", "c"]]


def test_who_publishes_again_does_so_by_itself(written: Written) -> None:
    def twice(message: Message, publish: PublishNext) -> Outcome:
        publish(message)
        return publish(Message("", "again", b""))

    assert publishing(written, twice)("a", "b") == [Confirmed("again")] * 2
    assert written.said == [["a", "b"], ["again"], ["again"]]


@pytest.mark.parametrize("key", ["a", "b", "c"])
def test_who_raises_before_has_nothing_of_its_part_published(written: Written, key: str) -> None:
    seen: list[str] = []

    def stubborn(message: Message, publish: PublishNext) -> Outcome:
        try:
            return publish(message)
        except Exception:  # noqa: BLE001 - what another message's middleware raised is not for this one
            seen.append(message.routing_key)
            return publish(message)

    with pytest.raises(ValueError, match=key):
        publishing(written, stubborn, raising_at(key))("a", "b", "c")
    assert written.said == []
    assert seen == [key]


def test_who_swallows_everything_changes_nothing_of_it(written: Written) -> None:
    def greedy(message: Message, publish: PublishNext) -> Outcome:
        try:
            return publish(message)
        except BaseException:  # noqa: BLE001 - on purpose
            return REFUSED

    with pytest.raises(ValueError, match="b"):
        publishing(written, raising_at("b"), greedy)("a", "b", "c")
    assert written.said == []


def test_who_raises_afterwards_keeps_nobody_from_its_outcome(written: Written) -> None:
    seen: list[Outcome] = []

    def look(message: Message, publish: PublishNext) -> Outcome:
        outcome = publish(message)
        seen.append(outcome)
        return outcome

    with pytest.raises(ValueError, match="b"):
        publishing(written, raising_at("b", after=True), look)("a", "b", "c")
    assert written.said == [["a", "b", "c"]]
    assert seen == [Confirmed("c"), Confirmed("b"), Confirmed("a")]


def test_an_error_in_a_later_part_says_what_was_published(written: Written) -> None:
    keys = [str(number) for number in range(PART + 2)]
    with pytest.raises(ValueError) as raised:
        publishing(written, raising_at(keys[-1]))(*keys)
    assert raised.value.__notes__ == [f"of {len(keys)} messages, {PART} were published before"]
    assert written.said == [keys[:PART]]


@pytest.mark.parametrize("keys", [("a",), ("a", "b")])
def test_what_the_publisher_raises_is_the_callers(written: Written, keys: tuple[str, ...]) -> None:
    written.problem = Closed("the app is closed")
    with pytest.raises(Closed):
        publishing(written, adding("1"))(*keys)
