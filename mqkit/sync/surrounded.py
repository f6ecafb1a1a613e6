"""A publisher of a synchronous app with middleware around each publish.

A plain function can't be left in the middle and taken up again, so the messages of a batch go
through inside of each other: where the first one's middleware publishes, the second one's begins,
and the innermost publishes all of them together. That takes the stack of one thread (another one
would not have the thread's own data, such as a site's request), and is why a batch goes in parts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce
from typing import Protocol, TypeAlias

from mqkit.message import Message
from mqkit.outcome import Outcome
from mqkit.pool.terms import WhenBlocked
from mqkit.sync.around import PublishMiddleware, PublishNext, surrounding

PART = 32
"""Messages of a batch that go through together. Each has two calls on the stack for a middleware
and three more, and Python allows a thread a thousand: with five middlewares a part takes 416."""

Publish: TypeAlias = Callable[[Sequence[Message]], list[Outcome]]


class Publishes(Protocol):
    """A publisher: see :class:`mqkit.sync.publisher.Publisher`."""

    def publish(
        self,
        messages: Sequence[Message],
        deadline_s: float | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
    ) -> list[Outcome]: ...


class SurroundedPublisher:
    """Takes the place of ``publisher``, whose own deadline is ``deadline_s``. Thread-safe. A
    deadline begins when the innermost publish does."""

    def __init__(
        self, publisher: Publishes, around: Sequence[PublishMiddleware], deadline_s: float
    ) -> None:
        self._publisher = publisher
        self._around = tuple(reversed(around))
        self._deadline_s = deadline_s

    def publish(
        self,
        messages: Sequence[Message],
        deadline_s: float | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
    ) -> list[Outcome]:
        """As the publisher's, in parts of :data:`PART`. If a middleware raises before all messages
        of its part are through, nothing of that part is published, nor what is behind it."""
        allowed_s = self._deadline_s if deadline_s is None else deadline_s
        until_s: float | None = None

        def publish(together: Sequence[Message]) -> list[Outcome]:
            nonlocal until_s
            now_s = time.monotonic()
            until_s = now_s + allowed_s if until_s is None else until_s
            left_s = max(until_s - now_s, 0.0)
            return self._publisher.publish(together, left_s, resend, on_blocked)

        def again(message: Message) -> Outcome:
            return self._publisher.publish((message,), allowed_s, resend, on_blocked)[0]

        if len(messages) == 1:
            return [self._through(again)(messages[0])]
        outcomes: list[Outcome] = []
        for start in range(0, len(messages), PART):
            part = _Part(messages[start : start + PART], self._through, publish, again)
            try:
                outcomes += part.outcomes()
            except Exception as error:
                if start:
                    error.add_note(f"of {len(messages)} messages, {start} were published before")
                raise
        return outcomes

    def _through(self, publish: PublishNext) -> PublishNext:
        return reduce(surrounding, self._around, publish)


class _GivenUp(BaseException):
    """Nothing of the part is published: raised through the middleware that waits for it, and no
    ``Exception``, lest one should try again."""


class _Part:
    """Messages that go through together, and are published as one batch."""

    def __init__(
        self,
        messages: Sequence[Message],
        through: Callable[[PublishNext], PublishNext],
        publish: Publish,
        again: PublishNext,
    ) -> None:
        self._places = [_Place(self, at) for at in range(len(messages))]
        self._messages = messages
        self._through = through
        self._publish = publish
        self.again = again
        self.is_published = False
        self.error: Exception | None = None
        """The first that was raised; it is the caller's when all middleware has ended."""

    def outcomes(self) -> list[Outcome]:
        """Publish, and return what each message's middleware returned. Raises what one raised."""
        with suppress(_GivenUp):
            self.bring_through(0)
        if self.error is not None:
            raise self.error
        return [place.returned for place in self._places if place.returned is not None]

    def bring_through(self, first: int) -> None:
        """Bring the messages from ``first`` on through the middleware, and publish behind the last.
        Raises :exc:`_GivenUp`."""
        for place in self._places[first:]:
            try:
                place.returned = self._through(place.publish)(self._messages[place.at])
            except Exception as error:  # noqa: BLE001 - raised when all have ended
                self.error = self.error or error
                if not self.is_published:
                    raise _GivenUp from None
            if place.waiting is not None:
                return  # those behind it came through while it waited
        self._publish_all()

    def _publish_all(self) -> None:
        waiting = [place for place in self._places if place.waiting is not None]
        together = [place.waiting for place in waiting if place.waiting is not None]
        try:
            outcomes = self._publish(together) if together else []
        except Exception as error:  # noqa: BLE001 - as above
            self.error = error
            raise _GivenUp from None
        self.is_published = True
        for place, outcome in zip(waiting, outcomes, strict=True):
            place.outcome = outcome


class _Place:
    """The place of one message in a part: where its middleware publishes it."""

    __slots__ = ("_part", "at", "outcome", "returned", "waiting")

    def __init__(self, part: _Part, at: int) -> None:
        self._part = part
        self.at = at
        self.waiting: Message | None = None
        self.outcome: Outcome | None = None
        self.returned: Outcome | None = None

    def publish(self, message: Message) -> Outcome:
        """Publish with the part; a second time, by itself."""
        part = self._part
        if part.error is not None and not part.is_published:
            raise _GivenUp
        if self.waiting is not None or part.is_published:
            return part.again(message)
        self.waiting = message
        part.bring_through(self.at + 1)
        if self.outcome is None:
            raise _GivenUp  # somebody swallowed it
        return self.outcome
