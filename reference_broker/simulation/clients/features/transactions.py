"""Transactions. Their laws: everything that was committed is there, and nothing else ever shows;
acks too: one that was committed is for good, and a message whose ack was rolled back comes
again. Of a commit that was not answered before a crash a part may stay, but no ack without all of
its publishes: who takes from one queue and publishes to the next loses nothing."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from mqkit.wire.methods import (
    BasicConsume,
    BasicQos,
    Method,
    QueueDeclare,
    TxCommit,
    TxCommitOk,
    TxRollback,
    TxRollbackOk,
    TxSelect,
)
from reference_broker.errors import ReplyCode
from reference_broker.simulation.clients.features.feature import Feature
from reference_broker.simulation.clients.features.ledger import Post
from reference_broker.simulation.clients.features.line import Line, Taken

_ROLLBACK_CHANCE = 0.3
_OPEN_CHANCE = 0.2
"""Chance that a transaction goes on when the client acts again."""


@dataclass(slots=True)
class _Open:
    """Work of a line since its last commit or rollback."""

    posts: list[Post] = field(default_factory=list)
    acks: dict[int, Taken] = field(default_factory=dict)
    committing: bool = False
    settled: int = 0
    """Settlements of the line that are for good, with this commit."""

    def seen(self, taken: Taken) -> None:
        """A message has come after the commit was sent. Where the commit acked it, the commit has
        not happened, and another one may ack it now; where it published it, all is well."""
        self.acks = {
            tag: each
            for tag, each in self.acks.items()
            if (each.queue, each.number) != (taken.queue, taken.number)
        }
        self.posts = [post for post in self.posts if post.number != taken.number]


class Transactions(Feature):
    name = "transactions"
    queues = ("left", "right")
    judges_starts = True
    expected_closes = (*Feature.expected_closes, ReplyCode.PRECONDITION_FAILED)
    """A transaction may be too large where memory is short."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self._open: dict[int, _Open] = {}
        self._never: set[int] = set()
        """Messages that were not committed."""
        self._unanswered: list[_Open] = []
        """Commits whose lines ended before the answer."""

    def declarations(self) -> list[Method]:
        return [QueueDeclare(queue=queue, durable=True) for queue in self.queues]

    def topology(self) -> list[Method]:
        consumes = [BasicConsume(queue=queue, consumer_tag=f"{queue}/0") for queue in self.queues]
        return [
            *self.declarations(), TxSelect(), BasicQos(prefetch_count=self.prefetch), *consumes
        ]  # fmt: skip

    def act(self, line: Line) -> None:
        self._open.setdefault(line.number, _Open())
        if self.draining:
            self.settle_some(line)
            self._end(line, commit=True)
            return
        for _ in range(self.random.randint(0, 4)):
            self.publish(line)
        self.settle_some(line)
        if self.random.random() >= _OPEN_CHANCE:
            self._end(line, commit=self.random.random() >= _ROLLBACK_CHANCE)

    def publish(self, line: Line) -> None:
        queue = self.random.choice(self.queues)
        post = self.post(line, [(queue,)])
        self._open[line.number].posts.append(post)
        line.publish("", queue, post)
        line.unconfirmed.clear()

    def settle(self, line: Line, tag: int) -> None:
        self.ack(line, tag)

    def ack(self, line: Line, tag: int) -> None:
        self._open[line.number].acks[tag] = line.ack(tag)

    def _end(self, line: Line, *, commit: bool) -> None:
        transaction = self._open[line.number]
        if not commit:
            line.ask(TxRollback())
            return
        for taken in transaction.acks.values():
            self.ledger.settled(line.number, taken.queue, taken.number)
        transaction.committing = True
        line.ask(TxCommit())

    def answered(self, line: Line, method: Method) -> None:
        if isinstance(method, TxCommitOk):
            done = self._open.pop(line.number)
            for post in done.posts:
                self.ledger.confirmed(post, self.clock.wall_ms(), synced=False)
            self.ledger.all_synced(line.number)
        elif isinstance(method, TxRollbackOk):
            done = self._open.pop(line.number)
            self._never.update(post.number for post in done.posts)
            line.held.update(done.acks)

    def delivered(self, line: Line, taken: Taken) -> None:
        for commit in self._unanswered:
            commit.seen(taken)
        if taken.number in self._never:
            raise self.fail(f"message {taken.number} was not committed, and came")

    def ended(self, line: Line) -> None:
        lost = self._open.pop(line.number, None)
        if lost is None:
            return
        if lost.committing:
            self._unanswered.append(lost)
        else:
            self._never.update(post.number for post in lost.posts)

    def found(self, numbers: Mapping[str, Set[int]]) -> None:
        # The lines of the life before may not have noticed yet that it is over.
        commits = [*self._unanswered, *(each for each in self._open.values() if each.committing)]
        self._unanswered.clear()
        for commit in commits:
            acked = [
                each for each in commit.acks.values() if each.number not in numbers[each.queue]
            ]
            missing = [
                post.number
                for post in commit.posts
                if not any(
                    post.number in numbers[queue] for place in post.places for queue in place
                )
            ]
            if acked and missing:
                raise self.fail(
                    f"a commit has acked message {acked[0].number}, and message {missing[0]}, "
                    "which it published, is gone"
                )
