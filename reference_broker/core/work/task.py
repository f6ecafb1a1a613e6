"""A piece of work that one turn is too short for: steps that can be continued.

The steps are a generator, one for a request and never for a message. It yields where it may be
interrupted, and is continued there in a later turn:

    yield          when the budget is spent
    yield until    when something else has to happen first

It does its work between two yields as if nobody else were there, and after each looks again at what
may have changed: a queue may be gone by then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TypeAlias

from reference_broker.core.work.budget import METHOD_UNITS, Budget
from reference_broker.core.work.until import Agreement, NotYet, Once, Until

Steps: TypeAlias = Generator[Until | None, None, None]
"""The steps of a piece of work."""

Done: TypeAlias = Callable[[Exception | None], None]
"""Called once when steps have ended: with the exception that they raised, or ``None``."""


class Task:
    """Steps that are under way. ``done`` is called once, when they have ended: with the exception
    that they raised, or ``None``."""

    __slots__ = ("_done", "_list_again", "_steps", "connection_id", "vhost_name")

    def __init__(
        self,
        list_again: Callable[[Task], None],
        steps: Steps,
        vhost_name: str,
        connection_id: int,
        done: Done,
    ) -> None:
        self._list_again = list_again
        self._steps = steps
        self._done = done
        self.vhost_name = vhost_name
        self.connection_id = connection_id

    def advance(self) -> bool:
        """Go on until the budget is spent. True: there is nothing to go on with, for good or until
        something has happened; then the task lists itself again."""
        try:
            until = next(self._steps)
        except StopIteration:
            self._end(None)
            return True
        except Exception as error:  # noqa: BLE001 - whoever began it is told
            self._end(error)
            return True
        if until is None:
            return False
        until.then(self._happened)
        return True

    def _end(self, error: Exception | None) -> None:
        # Whoever is told may raise, and the task be listed again for that.
        done, self._done = self._done, raise_error
        done(error)

    def _happened(self) -> None:
        self._list_again(self)


def raise_error(error: Exception | None) -> None:
    """The end of steps that nobody waits for: an error is ours."""
    if error is not None:
        raise error


def tell_each(until: Until, budget: Budget) -> Steps:
    """The steps of telling those who wait for what has happened, and does not happen again: each
    has a request to be handled anew, and they may be ten thousand."""
    while until:
        if budget.left <= 0:
            yield None
        budget.left -= METHOD_UNITS
        until.happened_for_one()


def begun_with(until: Until | None, steps: Steps) -> Steps:
    """``steps`` of which the first was taken, and gave ``until``."""
    yield until
    yield from steps


def agreed(act: Callable[[], object]) -> Steps:
    """The steps of ``act`` where the other nodes of a cluster may have to be asked: it is called
    again from its checks until it has nothing to wait for. Raises what ``act`` raises, and the
    reason why nobody can be asked."""
    while True:
        try:
            act()
        except NotYet as wait:
            until = wait.until
        else:
            return
        yield until
        if isinstance(until, Agreement) and until.failure is not None:
            raise until.failure


def at_once(pieces: Iterable[Iterator[Until | None]], most: int) -> Steps:
    """The steps of pieces of work that need nothing of each other, begun in their order: one that
    waits for something holds up no other, until ``most`` of them wait. Raises what a piece raises;
    then no other is begun, and those that wait are given up."""
    waiting: deque[tuple[Once, Iterator[Until | None]]] = deque()
    for piece in pieces:
        yield from _until_it_waits(piece, waiting)
        if len(waiting) == most:
            yield from _after_the_first(waiting)
    while waiting:
        yield from _after_the_first(waiting)


def _until_it_waits(
    piece: Iterator[Until | None], waiting: deque[tuple[Once, Iterator[Until | None]]]
) -> Steps:
    for until in piece:
        if until is not None:
            # It may happen while another piece is waited for.
            over = Once()
            until.then(over.happened)
            waiting.append((over, piece))
            return
        yield None


def _after_the_first(waiting: deque[tuple[Once, Iterator[Until | None]]]) -> Steps:
    """Go on with the piece that has waited longest."""
    over, piece = waiting.popleft()
    if not over.has_happened:
        yield over
    yield from _until_it_waits(piece, waiting)


def in_order(*all_steps: Steps) -> Steps:
    """The steps of several pieces of work, one piece after another."""
    for steps in all_steps:
        yield from steps


def followed_by(steps: Steps, then: Callable[[], None]) -> Steps:
    """``steps``, and ``then`` as the last one."""
    yield from steps
    then()
