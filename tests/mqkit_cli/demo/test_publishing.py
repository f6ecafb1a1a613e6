"""Publishing until everything is confirmed, against outcomes that a test makes up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from mqkit.message import Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit_cli.demo import publishing
from mqkit_cli.demo.journal import Event, Journal
from mqkit_cli.demo.publishing import ROUNDS_MAX, WINDOW, WINDOWS_MIN, publish_all
from mqkit_cli.demo.scenario import Item
from mqkit_cli.errors import CommandError

pytestmark = pytest.mark.anyio


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path) as opened:
        yield opened


class Pace:
    """Lets everything go at once, and remembers."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    async def before_window(self, started: int, windows: int) -> None:
        self.asked.append((started, windows))


class FakeBroker:
    """Answers the n-th sight of a message as ``answer`` says; not mqkit's code, but its peer."""

    def __init__(self, answer: Callable[[str, int], Outcome]) -> None:
        self.answer = answer
        self.seen: list[str] = []
        self.sizes: list[int] = []

    async def publish_batch(self, messages: Sequence[Message]) -> list[Outcome]:
        self.sizes.append(len(messages))
        outcomes = []
        for message in messages:
            identity = message.properties.message_id or ""
            self.seen.append(identity)
            outcomes.append(self.answer(identity, self.seen.count(identity)))
        return outcomes


def items(count: int) -> list[Item]:
    return [
        Item(Message("e", "k", b"", Properties(message_id=f"m{n}")), ("a", "b"))
        for n in range(count)
    ]


async def test_everything_is_written_down_for_every_queue(journal: Journal) -> None:
    broker, pace = FakeBroker(lambda identity, _: Confirmed(identity)), Pace()
    await publish_all(items(30), broker.publish_batch, journal, pace)
    wanted = {(queue, f"m{n}") for n in range(30) for queue in "ab"}
    assert set(journal.seen[Event.PUBLISHED]) == set(journal.seen[Event.CONFIRMED]) == wanted
    assert pace.asked == [(n, 15) for n in range(15)]


@pytest.mark.parametrize(
    ("count", "size"),
    [(1, 1), (WINDOWS_MIN, 1), (WINDOWS_MIN * 2, 2), (WINDOW * WINDOWS_MIN * 2, WINDOW)],
)
async def test_windows_leave_a_middle(journal: Journal, count: int, size: int) -> None:
    broker = FakeBroker(lambda identity, _: Confirmed(identity))
    await publish_all(items(count), broker.publish_batch, journal, Pace())
    assert set(broker.sizes) == {size}
    assert len(broker.seen) == count


@pytest.mark.parametrize("first", [Unknown("the link is gone"), Rejected(RejectReason.NACKED)])
async def test_what_is_in_doubt_is_published_again_under_its_id(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, first: Outcome
) -> None:
    monkeypatch.setattr(publishing, "PAUSE_S", 0)
    broker = FakeBroker(
        lambda identity, sight: first if (identity, sight) == ("m3", 1) else Confirmed(identity)
    )
    await publish_all(items(5), broker.publish_batch, journal, Pace())
    assert broker.seen.count("m3") == 2
    assert len(broker.seen) == 6
    assert journal.seen[Event.CONFIRMED]["a", "m3"] == 1


async def test_it_gives_up_after_some_rounds(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "PAUSE_S", 0)
    broker = FakeBroker(lambda *_: Unknown("no answer"))
    with pytest.raises(ExceptionGroup) as caught:
        await publish_all(items(1), broker.publish_batch, journal, Pace())
    assert caught.group_contains(CommandError, match=r"not confirmed in 5 rounds; the first is m0")
    assert broker.seen == ["m0"] * ROUNDS_MAX
    assert not journal.seen[Event.CONFIRMED]


async def test_a_refusal_ends_the_run(journal: Journal) -> None:
    no = Rejected(RejectReason.UNROUTABLE, "NO_ROUTE", "m0")
    with pytest.raises(ExceptionGroup) as caught:
        await publish_all(items(1), FakeBroker(lambda *_: no).publish_batch, journal, Pace())
    words = "the broker refused message m0: unroutable: NO_ROUTE"
    assert caught.group_contains(CommandError, match=words)
