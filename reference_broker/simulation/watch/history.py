"""The history of a run: each event is told to every checker, counted, and folded into one hash.

Two runs of a seed are the same when their hashes are.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from json import JSONEncoder

from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.definitions import Declaration, Definition, Definitions
from reference_broker.simulation.events.events import (
    BitRot,
    Books,
    ChannelBook,
    Delivery,
    DiskUse,
    Indexed,
    Losses,
    Message,
    Removal,
    RemovalKind,
    Settlement,
    Start,
)
from reference_broker.simulation.watch.checkers import Checker, Violation

_DIGEST_BYTES = 16
_FOLDED_AT_ONCE = 256


class History:
    """The one place that events go through. ``counts`` are by kind of event.

    Raises :exc:`Violation`, from any method, when a checker does.
    """

    def __init__(self, checkers: Sequence[Checker], clock: SimulatedClock) -> None:
        self.counts: Counter[str] = Counter()
        self._checkers = checkers
        self._clock = clock
        self._messages: list[Message] = []
        self._noted: list[tuple[object, ...]] = []
        """Events that are not in the digest yet."""
        self._digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)

    def tell_first(self, listener: Checker) -> None:
        """Tell ``listener`` of all that comes, before the checkers judge it."""
        self._checkers = [listener, *self._checkers]

    @property
    def trace_hash(self) -> str:
        """The hash of everything that was noted so far."""
        digest = self._digest.copy()
        digest.update(_words(self._noted).encode())
        return digest.hexdigest()

    @property
    def life(self) -> int:
        """The number of the broker's starts so far."""
        return self.counts["starts"]

    def note(self, *what: object) -> None:
        """Make something part of the trace; it must not change any more."""
        self._noted.append(what)
        if len(self._noted) == _FOLDED_AT_ONCE:
            self._digest.update(_words(self._noted).encode())
            self._noted.clear()

    def message(self, number: int) -> Message:
        """The message with that number. Raises :exc:`Violation` where there is none."""
        if not 0 < number <= len(self._messages):
            raise Violation("content", f"a message came with the number {number}")
        return self._messages[number - 1]

    def larger_than(self, size_bytes: int) -> int:
        """The number of messages with larger bodies."""
        return sum(message.size > size_bytes for message in self._messages)

    def wall_ms(self, stamp: int | None = None) -> int:
        """The wall clock's milliseconds now; or at the time of ``stamp``, if one is given."""
        return self._clock.wall_ms(stamp)

    # What clients do, and are told

    def begin_session(self) -> int:
        """Number a session of a client that is about to open a channel."""
        self.counts["sessions"] += 1
        return self.counts["sessions"]

    def session_ended(self, session: int) -> None:
        self.note("session ended", session)
        for checker in self._checkers:
            checker.session_ended(session)

    def publish(self, message: Message) -> Message:
        """Give a message that a client is about to publish its number and its time."""
        self.counts["published"] += 1
        message.number = self.counts["published"]
        message.stamp = self._clock.stamp()
        message.wall_ms = self._clock.wall_ms()
        self._messages.append(message)
        self.note("published", message.number, message.session, message.queues, message.persistent)
        for checker in self._checkers:
            checker.published(message)
        return message

    def confirmed(self, message: Message) -> None:
        self.counts["confirmed"] += 1
        self.note("confirmed", message.number)
        for checker in self._checkers:
            checker.confirmed(message, self._clock.wall_ms())

    def nacked(self, message: Message) -> None:
        """The broker nacked a message: it may be in some of its queues, and nothing is promised."""
        self.counts["nacked"] += 1
        self.note("nacked", message.number)

    def delivered(self, delivery: Delivery) -> None:
        self.counts["delivered"] += 1
        self.counts["redelivered"] += delivery.redelivered
        self.counts["dead letters delivered"] += bool(delivery.history)
        self.note("delivered", *delivery.entry, delivery.session, delivery.redelivered)
        for checker in self._checkers:
            checker.delivered(delivery)

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        self.counts[how.value] += 1
        self.note("settled", *delivery.entry, delivery.session, how.value)
        for checker in self._checkers:
            checker.settled(delivery, how)

    def blind_get_sent(self, queue: str) -> None:
        """A client sent a basic.get that asks for no ack."""
        self.note("blind get", queue)
        for checker in self._checkers:
            checker.blind_get_sent(queue)

    def removal_sent(self, kind: RemovalKind, queue: str, session: int) -> Removal:
        self.counts[kind.value] += 1
        self.note("removal sent", kind.value, queue, session)
        removal = Removal(kind, queue, session, self._clock.stamp())
        for checker in self._checkers:
            checker.removal_sent(removal)
        return removal

    def removed(self, removal: Removal) -> None:
        """A removal was answered."""
        removal.done = self._clock.stamp()
        self.note("removed", removal.kind.value, removal.queue)
        for checker in self._checkers:
            checker.removed(removal)

    def declaration_sent(self, definition: Definition) -> Declaration:
        self.note("declaration sent", definition.key)
        declaration = Declaration(definition)
        for checker in self._checkers:
            checker.declaration_sent(declaration)
        return declaration

    def declared(self, declaration: Declaration) -> None:
        """A declaration was answered."""
        self.counts["declared"] += 1
        self.note("declared", declaration.definition.key)
        for checker in self._checkers:
            checker.declared(declaration)

    # What happens at the broker

    def sent_blindly(self, queue: str, number: int) -> None:
        """The broker sent a message that nobody will ack; whether it arrives is another matter."""
        for checker in self._checkers:
            checker.sent_blindly(queue, number)

    def blind_get_answered(self, queue: str) -> None:
        """The broker sent the answer, with a message or without."""
        for checker in self._checkers:
            checker.blind_get_answered(queue)

    def started(self, start: Start) -> None:
        self.counts["starts"] += 1
        lost = sorted(start.lost.items())
        self.note("started", sorted(start.queues.items()), start.damaged, lost, start.orphans)
        for checker in self._checkers:
            checker.started(start)

    def definitions_found(self, found: Definitions) -> None:
        """All that is defined in the clients' virtual host at a start."""
        self.note("definitions found", sorted(found))
        for checker in self._checkers:
            checker.definitions_found(found)

    def definitions_seen(self, there: Definitions) -> None:
        """All that is defined there, between two inputs."""
        for checker in self._checkers:
            checker.definitions_seen(there)

    def definitions_compared(self, ours: Definitions, rebuilt: Definitions, source: str) -> None:
        self.counts["definitions compared"] += len(ours)
        for checker in self._checkers:
            checker.definitions_compared(ours, rebuilt, source)

    def compared(
        self,
        index: Mapping[str, Sequence[Indexed]],
        rebuilt: Mapping[str, Sequence[Indexed]],
        source: str,
    ) -> None:
        self.counts[f"rebuilds from {source}"] += 1
        self.note("compared", sorted((name, len(each)) for name, each in index.items()), source)
        for checker in self._checkers:
            checker.compared(index, rebuilt, source)

    def rested(self, use: DiskUse) -> None:
        """Nothing has happened for a while."""
        self.counts["rests"] += 1
        self.note("rested", use)
        for checker in self._checkers:
            checker.rested(use)

    def calm(self, *, is_blocked: bool) -> None:
        """Nothing has failed for a while, and clients are to be judged."""
        self.counts["calms"] += 1
        self.counts["calms with an alarm on"] += is_blocked

    def counted(self, books: Books) -> None:
        self.counts["books"] += 1
        for checker in self._checkers:
            checker.counted(books)

    def channels_counted(self, books: Sequence[ChannelBook]) -> None:
        self.counts["books of channels"] += 1
        for checker in self._checkers:
            checker.channels_counted(books)

    def left_over(self, held: Mapping[str, int]) -> None:
        """Resources are still ``held`` though the clients or messages that they were for are
        gone."""
        for checker in self._checkers:
            checker.left_over(held)

    def life_ended(self, losses: Losses, counts: Counter[str]) -> None:
        """The broker's process is gone; ``counts`` are of its work that nobody outside sees."""
        self.counts += counts
        self.note("life ended", sorted(counts.items()))
        for checker in self._checkers:
            checker.life_ended(losses)

    def bit_flipped(self, rot: BitRot) -> None:
        self.counts["files damaged"] += 1
        self.note("bit flipped", rot.file, rot.numbers, rot.speaks, rot.defines)
        for checker in self._checkers:
            checker.bit_flipped(rot)

    def drained(self, losses: Losses) -> None:
        """Everything was taken; ``losses`` are those of the life that goes on."""
        self.note("drained")
        for checker in self._checkers:
            checker.drained(losses, self._clock.wall_ms())


def _plain(value: object) -> object:
    """A value in a form that JSON has."""
    if isinstance(value, bytes | bytearray):
        # All that the broker sends comes by here: as text it would be most of a trace.
        return hashlib.blake2b(value, digest_size=_DIGEST_BYTES).hexdigest()
    if isinstance(value, Set):
        return sorted(value)
    raise TypeError(f"nothing that a trace can hold: {value!r}")


_words = JSONEncoder(default=_plain, check_circular=False).encode
"""Events as text: named tuples are lists like others, so that names of a class and its fields are
not part of a trace, and a rename leaves every seed its hash."""
