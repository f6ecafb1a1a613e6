"""mqkit.sync.reply_channel on a channel in memory: every order of confirm, answer and end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from mqkit.errors import CallRejected, ChannelError, Closed, ConnectionLost
from mqkit.message import Delivery, Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.rpc.headers import DIRECT_REPLY_TO
from mqkit.sync.reply_channel import ReplyChannel

WAIT_S = 20.0
NOT_FOUND = ChannelError(404, "NOT_FOUND")
NO_EXCHANGE = Rejected(RejectReason.NO_EXCHANGE, "404")


class Wire:
    """A connection, and its one channel. It does what a test says, on the test's thread."""

    def __init__(self) -> None:
        self.is_open = True
        self.written: list[tuple[Message, Callable[[int, Sequence[Outcome]], None]]] = []
        self.problem: Exception | None = None
        self.is_closed = False

    def channel(self, *, confirms: bool) -> Any:
        assert confirms
        return self

    def consume(self, queue: str, on_delivery: Callable[[Delivery], None], *, no_ack: bool) -> str:
        assert (queue, no_ack) == (DIRECT_REPLY_TO, True)
        if self.problem is not None:
            raise self.problem
        self._on_delivery = on_delivery
        return "tag"

    def on_closed(self, callback: Callable[[Any], None]) -> None:
        self._on_closed = callback

    def publish_run(self, messages: Any, on_settled: Any, *, timeout_s: float) -> None:
        self.written.append((messages[0], on_settled))
        self.asked.set_result(None)

    def close(self) -> None:
        self.is_open, self.is_closed = False, True

    def settles(self, outcome: Outcome) -> None:
        self.written[-1][1](0, [outcome])

    def answers(self, body: bytes, correlation_id: str = "c") -> None:
        self._on_delivery(
            Delivery("", "", body, Properties(correlation_id=correlation_id), 1, False)
        )

    def ends(self, error: Exception | None) -> None:
        self.is_open = False
        self._on_closed(error)

    asked: Future[None]


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def ask(wire: Wire) -> Any:
    """Asks in another thread, and returns the future of the answer when the question is written."""
    channel = ReplyChannel.open(wire)  # type: ignore[arg-type]
    threads = ThreadPoolExecutor(2)

    def ask(wait_s: float = WAIT_S) -> Future[Delivery | None]:
        wire.asked = Future()
        question = Message("", "q", b"?", Properties(correlation_id="c"))
        answer = threads.submit(channel.ask, question, time.monotonic() + wait_s)
        wire.asked.result(WAIT_S)
        return answer

    yield ask
    threads.shutdown()


def test_an_answer_may_come_before_its_confirm(wire: Wire, ask: Any) -> None:
    answer = ask()
    wire.answers(b"another's", "x")
    wire.answers(b"yes")
    wire.settles(Confirmed())
    assert answer.result(WAIT_S).body == b"yes"


@pytest.mark.parametrize("end_first", [True, False], ids=["end", "outcome"])
def test_the_question_that_a_channel_was_closed_for_has_the_brokers_reason(
    wire: Wire, ask: Any, *, end_first: bool
) -> None:
    answer = ask()
    steps: list[Callable[[], None]] = [
        lambda: wire.ends(NOT_FOUND),
        lambda: wire.settles(NO_EXCHANGE),
    ]
    for step in steps if end_first else reversed(steps):
        step()
    with pytest.raises(CallRejected, match="no such exchange"):
        answer.result(WAIT_S)


@pytest.mark.parametrize("end_first", [True, False], ids=["end", "confirm"])
def test_who_waits_for_an_answer_hears_of_the_end(wire: Wire, ask: Any, *, end_first: bool) -> None:
    answer = ask()
    steps: list[Callable[[], None]] = [
        lambda: wire.ends(NOT_FOUND),
        lambda: wire.settles(Confirmed()),
    ]
    for step in steps if end_first else reversed(steps):
        step()
    with pytest.raises(ConnectionLost, match="channel of this call was closed: 404"):
        answer.result(WAIT_S)


@pytest.mark.parametrize("end", [None, Closed("this program")], ids=["none", "closed"])
def test_the_end_that_this_program_made_is_told_as_that(wire: Wire, ask: Any, end: Any) -> None:
    answer = ask()
    wire.ends(end)
    wire.settles(Unknown("the channel was closed"))
    with pytest.raises(Closed):
        answer.result(WAIT_S)


def test_a_lost_connection_is_told_as_that(wire: Wire, ask: Any) -> None:
    answer = ask()
    wire.ends(ConnectionLost("cut"))
    wire.settles(Unknown("the connection is lost"))
    with pytest.raises(ConnectionLost, match="the connection is lost"):
        answer.result(WAIT_S)


def test_what_had_no_room_in_the_window_ends_with_its_time(wire: Wire, ask: Any) -> None:
    answer = ask(0.01)
    wire.settles(Unknown("not sent", sent=False))
    assert answer.result(WAIT_S) is None
    wire.answers(b"late")  # nobody minds


def test_what_can_not_consume_is_closed(wire: Wire) -> None:
    wire.problem = ChannelError(403, "ACCESS_REFUSED")
    with pytest.raises(ChannelError):
        ReplyChannel.open(wire)  # type: ignore[arg-type]
    assert wire.is_closed
