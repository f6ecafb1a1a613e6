"""The relay: a node to which etcd tells nothing has the events told by the others.

Heartbeats say how far every node is. One that hears of a revision which it was not told asks a node
that has applied it for what has changed since: at once while there is no news of etcd, else after a
moment, as a watch that is dead looks like one that is slow. (One that is silent since it was helped
so is taken for dead.) What comes is news to the feed, as that of a watch. So a node that is cut off
from etcd alone routes by what was agreed, and no -ok waits for it.

Each node answers from the last transactions that it was told
(:mod:`~reference_broker.cluster.metadata.event_history`). Whoever lacks more than these, or has to
read everything anew, waits for etcd.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, TypeGuard

from reference_broker.cluster.metadata.event_history import Portion
from reference_broker.cluster.metadata.event_octets import decode_transactions, encode_transactions
from reference_broker.cluster.metadata.feed import Feed
from reference_broker.cluster.pause import Timer
from reference_broker.cluster.questions.answers import Answers
from reference_broker.cluster.questions.asking import FAILED, Asking, Gathered
from reference_broker.cluster.questions.question import Answer, Question
from reference_broker.core.base.deadlines import Deadline
from reference_broker.errors import Corrupt

KIND = "events"
"""The kind of its questions."""

PATIENCE_S = 0.5
"""Seconds that a watch which is well may be behind what another node has applied; and of the pause
when nobody had an answer."""

PORTION_BYTES = 128 * 1024
"""Octets of transactions in one answer, and then the last one's: what a turn makes and reads."""

REVISION_MAX = (1 << 63) - 1
"""etcd's are signed, of 64 bits."""


class Relay:
    """Asks for what ``feed`` was not told, and answers from what it was. ``after`` is the broker's
    timer; ``report`` is told, in a line, of an answer that can't be read. Nothing is asked until
    :meth:`attach`."""

    def __init__(self, feed: Feed, after: Timer, report: Callable[[str], None]) -> None:
        self.taken = 0
        """The number of transactions that came from other nodes before etcd told them."""
        self._feed = feed
        self._after = after
        self._report = report
        self._asking: Asking | None = None
        self._applied: dict[str, int] = {}
        """The revisions of the nodes that are heard."""
        self._in_vain: set[str] = set()
        """Nodes that had no answer."""
        self._unreadable: set[str] = set()
        """Nodes whose answer could not be read: they are not asked again over that link."""
        self._is_asking = False
        self._wait: Deadline | None = None

    def attach(self, asking: Asking, answers: Answers) -> None:
        """Ask by ``asking``, and answer other nodes, from now on."""
        self._asking = asking
        answers.answer_with(KIND, self._answer)

    def close(self) -> None:
        """Ask nothing more. Idempotent."""
        self._asking = None
        if self._wait is not None:
            self._wait.cancel()
            self._wait = None

    # Asking

    def heard(self, node: str, applied: int) -> None:
        """``node`` serves clients, and has applied everything up to the revision."""
        self._applied[node] = applied
        if applied > self._feed.told:
            self._look()

    def unheard(self, node: str) -> None:
        """The link of ``node`` is down. Idempotent."""
        self._applied.pop(node, None)
        self._in_vain.discard(node)
        self._unreadable.discard(node)

    @property
    def _highest(self) -> int:
        return max(self._applied.values(), default=0)

    def _look(self) -> None:
        if self._is_asking or self._wait is not None or not self._feed.goes_on:
            return
        if self._feed.trouble or self._feed.is_overtaken:
            self._ask()
        else:
            self._begin_to_wait()

    def _begin_to_wait(self) -> None:
        self._wait = self._after(PATIENCE_S, partial(self._waited, self._highest))

    def _waited(self, revision: int) -> None:
        """The feed had its time to be told of ``revision``."""
        self._wait = None
        if self._feed.told < revision:
            self._ask()
        elif self._feed.told < self._highest:
            self._look()

    def _ask(self) -> None:
        """Ask the node that is ahead most; after a pause where all who are were asked in vain."""
        told, asking = self._feed.told, self._asking
        if asking is None or not self._feed.goes_on or self._highest <= told:
            return
        not_asked = self._in_vain | self._unreadable
        ahead = [
            (applied, node)
            for node, applied in self._applied.items()
            if applied > told and node not in not_asked
        ]
        if not ahead:
            self._in_vain.clear()
            self._begin_to_wait()
            return
        _, node = max(ahead)
        self._is_asking = True
        asking.ask([node], Question(KIND, {"after": told}), partial(self._told, node, told))

    def _told(self, node: str, after: int, gathered: Gathered) -> None:
        self._is_asking = False
        answer = gathered.answers.get(node)
        more = False
        if answer is not None:
            try:
                portion = _portion_in(answer, after)
            except Corrupt as error:
                self._unreadable.add(node)
                self._report(f"node {node!r} tells events of etcd that can't be read: {error}")
            else:
                more = portion.more
                self._take(portion)
        if self._feed.told == after:
            self._in_vain.add(node)
        if self._feed.told < self._highest:
            if more or self._feed.told == after:
                self._ask()
            else:
                self._look()

    def _take(self, portion: Portion) -> None:
        if self._feed.goes_on:
            told = self._feed.told
            self.taken += sum(each.revision > told for each in portion.transactions)
            self._feed.relayed(portion.transactions, portion.reached)

    # Answering

    def _answer(
        self, node: str, arguments: dict[str, Any], reply: Callable[[dict[str, Any], bytes], None]
    ) -> None:
        after = arguments.get("after")
        portion = None
        if _is_revision(after):
            portion = self._feed.history.after(after, PORTION_BYTES)
        if portion is None:
            reply({FAILED: f"what follows revision {after!r} is not known"}, b"")
        else:
            head = {"reached": portion.reached, "more": portion.more}
            reply(head, encode_transactions(portion.transactions))


def _portion_in(answer: Answer, after: int) -> Portion:
    """The answer to what follows the revision ``after``. Raises :exc:`Corrupt`."""
    reached, more = answer.head.get("reached"), answer.head.get("more")
    if not _is_revision(reached) or not isinstance(more, bool):
        raise Corrupt("an answer without the revision that it reaches")
    transactions = decode_transactions(answer.body)
    revisions = [after, *(each.revision for each in transactions)]
    if any(later <= earlier for earlier, later in pairwise(revisions)) or revisions[-1] > reached:
        raise Corrupt(f"revisions that do not rise from {after} to {reached}")
    return Portion(tuple(transactions), reached, more)


def _is_revision(found: object) -> TypeGuard[int]:
    return type(found) is int and 0 <= found <= REVISION_MAX
