"""The messages of one feature's client, and the laws that hold for any of them.

- A confirmed message is handed out in the end, from one of the queues where it may be by then.
- A queue never has two of it: not while one is held, and none once its ack is known to be synced;
  but where a crash came between the portions of a fan-out that has a source.
- When it is handed out a second time it is marked as redelivered.

An ack is known to be synced when a message that was published after it, on the same line, is
confirmed, and had to be synced for that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from reference_broker.simulation.events.events import Entry
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.simulation.watch.hand_outs import HandOuts

Place = frozenset[str]
"""The queues in one of which a message ends up."""


@dataclass(slots=True, eq=False)
class Post:
    """A message that was sent. ``line`` is the number of its connection, ``wall_ms`` and ``life``
    tell the time of its sending, and ``settled_before`` how much its line had settled by then."""

    number: int
    places: tuple[Place, ...]
    line: int
    wall_ms: int
    life: int
    settled_before: int
    key: str = ""
    size_bytes: int | None = None
    """Bytes of its body; a few, by its number, where nothing is said."""
    confirmed_ms: int | None = None
    settled_in: set[str] = field(default_factory=set)
    """Queues from which a client took the message for good."""

    @property
    def body(self) -> bytes:
        part = b"%d." % self.number
        if self.size_bytes is None:
            return part * (self.number % 60)
        return (part * (self.size_bytes // len(part) + 1))[: self.size_bytes]


class Ledger:
    """All posts of one feature."""

    def __init__(self, name: str) -> None:
        self.posts: dict[int, Post] = {}
        self._name = name
        self._settled: dict[int, list[tuple[str, int]]] = {}
        """Settlements for good, by line, in order."""
        self._known_synced: dict[int, int] = {}
        """Number of settlements that are known to be synced, by line."""
        self._gone: set[tuple[str, int]] = set()
        self._hand_outs = HandOuts()

    def post(
        self, line: int, places: Iterable[Iterable[str]], wall_ms: int, life: int, key: str = ""
    ) -> Post:
        """Enter a message that is about to be sent."""
        number = len(self.posts) + 1
        settled = len(self._settled.get(line, ()))
        where = tuple(frozenset(place) for place in places)
        post = Post(number, where, line, wall_ms, life, settled, key)
        self.posts[number] = post
        return post

    def confirmed(self, post: Post, wall_ms: int, *, synced: bool) -> None:
        """The broker has confirmed the message; ``synced`` if it had to be on disk for that."""
        post.confirmed_ms = wall_ms
        if synced:
            self.synced_up_to(post.line, post.settled_before)

    def synced_up_to(self, line: int, count: int) -> None:
        """The first ``count`` settlements of the line are on disk."""
        known = self._known_synced.get(line, 0)
        if count > known:
            self._gone.update(self._settled[line][known:count])
            self._known_synced[line] = count

    def all_synced(self, line: int) -> None:
        """Everything that the line has settled is on disk."""
        self.synced_up_to(line, len(self._settled.get(line, ())))

    def delivered(
        self,
        queue: str,
        number: int,
        held: Iterable[tuple[str, int]],
        *,
        may_be_again: bool = False,
    ) -> Post:
        """A line that holds ``held`` was handed another message. ``may_be_again``: a crash may have
        put it into the queue a second time. Raises :exc:`Violation`."""
        post = self.posts.get(number)
        if post is None:
            raise self.fail(f"message {number} of '{queue}' was never sent")
        if may_be_again:
            return post
        if (queue, number) in self._gone:
            raise self.fail(f"message {number} came back to '{queue}' after its ack was synced")
        if (queue, number) in held:
            raise self.fail(f"'{queue}' has message {number} twice")
        return post

    def sent(self, entry: Entry, stamp: int, *, redelivered: bool) -> None:
        """The broker has sent the message at that ``stamp``. Raises :exc:`Violation`."""
        if self._hand_outs.is_twice_as_new(entry, stamp, redelivered=redelivered):
            raise self.fail(f"message {entry[1]} came from '{entry[0]}' a second time as new")

    def settled(self, line: int, queue: str, number: int) -> None:
        """A client took the message for good; whether the broker learns of that is another
        matter."""
        self.posts[number].settled_in.add(queue)
        self._settled.setdefault(line, []).append((queue, number))

    def drained(self) -> None:
        """Check, after the faults, that every confirmed message was handed out. Raises
        :exc:`Violation`."""
        missing = [
            post.number
            for post in self.posts.values()
            if post.confirmed_ms is not None
            and not all(place & post.settled_in for place in post.places)
        ]
        if missing:
            raise self.fail(
                f"{len(missing)} confirmed messages are gone, the first is {missing[0]}",
                lost=len(missing),
            )

    def fail(self, text: str, lost: int = 0) -> Violation:
        """The violation of a law, to be raised."""
        return Violation(self._name, text, lost)
