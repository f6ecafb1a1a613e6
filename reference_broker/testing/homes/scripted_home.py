"""A home of queues that answers what it is told to, for tests of what asks it.

    home = ScriptedHome("b")
    lone.broker.vhosts["/"].enter_queue(QueueDefinition(7, "q", False, {}, True), home)
    client.publish("", "q", b"1")
    assert [(it.queue_ids, it.content.body) for it in home.published] == [((7,), b"1")]
    home.confirm()

What is asked is in order in ``asked``, each as its name and what it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from reference_broker.core.journal.watermark import Watermark
from reference_broker.core.message.content import Content
from reference_broker.core.remote.ports import Answer, Settlement, Taker, Terms, Told
from reference_broker.core.work.until import Until


class Published(NamedTuple):
    """A message that was published to queues of the home."""

    number: int
    queue_ids: tuple[int, ...]
    content: Content
    refused: Callable[[], None] | None


class ScriptedHome:
    """The node ``node``, and a :class:`~reference_broker.core.remote.ports.Home`. It is up, and has
    room, until its attributes say otherwise."""

    def __init__(self, node: str = "b") -> None:
        self.node = node
        self.confirmed = Watermark()
        self.era = 0
        self.is_up = True
        self.has_room = True
        self.published: list[Published] = []
        self.runs: list[int] = []
        """The numbers of messages that came together."""
        self.asked: list[tuple[Any, ...]] = []
        self.takers: dict[int, Taker] = {}
        """By the number of the attachment."""
        self._told: list[Told] = []
        self._room = Until()

    # As the home

    def room_comes(self) -> Until:
        """See :class:`~reference_broker.core.remote.ports.Home`, as all that follow."""
        return self._room

    def publish(
        self, queue_ids: Sequence[int], content: Content, refused: Callable[[], None] | None = None
    ) -> int:
        number = self.published[-1].number + 1 if self.published else 1
        self.published.append(Published(number, tuple(queue_ids), content, refused))
        return number

    def publish_run(
        self,
        queue_id: int,
        contents: Sequence[Content],
        refused: Callable[[int], None] | None = None,
    ) -> int:
        self.runs.append(len(contents))
        for place, content in enumerate(contents):
            self.publish((queue_id,), content, refused and partial(refused, place))
        return self.published[-1].number

    def attach(self, queue_id: int, terms: Terms, taker: Taker) -> int:
        number = len(self.takers) + 1
        self.takers[number] = taker
        self.asked.append(("attach", queue_id, terms))
        return number

    def grant(self, attachment: int, messages: int, octets: int) -> None:
        self.asked.append(("grant", attachment, messages, octets))

    def detach(self, attachment: int) -> None:
        self.asked.append(("detach", attachment))

    def end_leases(self, queue_id: int, how: Settlement, numbers: Sequence[int]) -> None:
        self.asked.append(("settle", queue_id, how, tuple(numbers)))

    def get(self, queue_id: int, no_ack: bool, told: Told) -> None:
        self.asked.append(("get", queue_id, no_ack))
        self._told.append(told)

    def count(self, queue_id: int, told: Told) -> None:
        self.asked.append(("count", queue_id))
        self._told.append(told)

    def purge(self, queue_id: int, told: Told) -> None:
        self.asked.append(("purge", queue_id))
        self._told.append(told)

    # As the script

    def take_asked(self) -> list[tuple[Any, ...]]:
        """All that was asked since this was called last."""
        asked, self.asked = self.asked, []
        return asked

    def answer(self, answer: Answer) -> None:
        """Answer the oldest question that is open."""
        self._told.pop(0)(answer)

    def confirm(self, number: int | None = None) -> None:
        """Answer every publish up to the number, or all."""
        self.confirmed.rise(self.published[-1].number if number is None else number)

    def refuse(self, number: int) -> None:
        """Refuse a publish, which is not confirmed yet."""
        for it in self.published:
            if it.number == number and it.refused is not None:
                it.refused()

    def make_room(self) -> None:
        """Have room again, and say so."""
        self.has_room = True
        room, self._room = self._room, Until()
        room.happened()

    def lose(self) -> None:
        """Be down: whatever was published and not confirmed is refused, and all takers are told."""
        self.is_up = False
        self.era += 1
        for it in self.published:
            if it.number > self.confirmed.value and it.refused is not None:
                it.refused()
        if self.published:
            self.confirm()
        takers, self.takers = self.takers, {}
        for taker in takers.values():
            taker.gone()
