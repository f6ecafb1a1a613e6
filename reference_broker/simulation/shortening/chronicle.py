"""The chronicle of a run: what clients did and were told, faults and starts, with their times."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from reference_broker.simulation.clients.features.ledger import Ledger, Post
from reference_broker.simulation.events.events import (
    BitRot,
    Delivery,
    Losses,
    Message,
    Removal,
    Settlement,
    Start,
)
from reference_broker.simulation.watch.checkers import Checker
from reference_broker.simulation.world import World

EVENTS_MAX = 20_000
"""Events that are kept, the last ones: some minutes of a world."""


@dataclass(frozen=True, slots=True)
class Happening:
    """One line of a chronicle. ``number`` is that of the message that it is about; 0 is none, and
    where there is no queue either, it happened to the broker as a whole."""

    us: int
    text: str
    number: int = 0
    queues: tuple[str, ...] = ()
    feature: str = ""
    """The feature at whose client it happened, which numbers messages of its own."""

    @property
    def is_about_all(self) -> bool:
        return not self.number and not self.queues


class Chronicle(Checker):
    """Keeps what happens in a new world, which runs after this was made."""

    name = "chronicle"

    def __init__(self, world: World) -> None:
        self._world = world
        self._events: deque[Happening] = deque(maxlen=EVENTS_MAX)
        self._names: dict[int, str] = {}
        """Of clients and channels, by session."""
        world.history.tell_first(self)
        for actor in world.features:
            feature = actor.feature
            feature.ledger = ToldLedger(feature.name, partial(self._in_feature, feature.name))

    def happenings(self) -> list[Happening]:
        """All that is kept, in order, with the faults."""
        faults = [
            Happening(strike.us, f"FAULT {strike.number}: {strike.fault.value}")
            for strike in self._world.faults.struck
        ]
        return sorted([*faults, *self._events], key=lambda each: each.us)

    # What clients do, and are told

    def published(self, message: Message) -> None:
        kind = "persistent" if message.persistent else "transient"
        more = "" if message.priority is None else f", priority {message.priority}"
        if message.expiration_ms is not None:
            more += f", expires after {message.expiration_ms} ms"
        text = f"publishes message {message.number} ({kind}, {message.size} bytes{more})"
        self._of(message.session, text, message.number, *message.queues)

    def confirmed(self, message: Message, wall_ms: int) -> None:
        text = f"is told of the confirm of message {message.number}"
        self._of(message.session, text, message.number, *message.queues)

    def delivered(self, delivery: Delivery) -> None:
        again = ", redelivered" if delivery.redelivered else ""
        dead = f", died {delivery.deaths} times" if delivery.deaths else ""
        text = f"is handed message {delivery.number}{again}{dead}"
        self._of(delivery.session, text, delivery.number, delivery.queue)

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        text = f"sends {how.value} of message {delivery.number}"
        self._of(delivery.session, text, delivery.number, delivery.queue)

    def removal_sent(self, removal: Removal) -> None:
        self._of(removal.session, f"sends {removal.kind.value}", 0, removal.queue)

    def removed(self, removal: Removal) -> None:
        text = f"is told of the end of its {removal.kind.value}"
        self._of(removal.session, text, 0, removal.queue)

    # What happens at the broker

    def started(self, start: Start) -> None:
        queues = sorted(start.queues.items())
        there = ", ".join(f"{len(copies)} in '{queue}'" for queue, copies in queues if copies)
        damage = ", and tells of damage" if start.damaged else ""
        self._note(f"START: the broker finds {there or 'nothing'}{damage}")

    def life_ended(self, losses: Losses) -> None:
        self._note("END of the broker's process")

    def bit_flipped(self, rot: BitRot) -> None:
        self._note(f"a bit of {rot.file} is flipped, of messages {list(rot.numbers)}")

    def drained(self, losses: Losses, wall_ms: int) -> None:
        self._note("everything is consumed")

    def _of(self, session: int, what: str, number: int, *queues: str) -> None:
        where = " and ".join(f"'{queue}'" for queue in queues)
        self._note(f"{self._name(session)} {what}, {where}", number, queues)

    def _in_feature(self, name: str, what: str, number: int, queues: tuple[str, ...]) -> None:
        where = " or ".join(f"'{queue}'" for queue in queues)
        text = f"the client of '{name}' {what} message {number}"
        self._note(f"{text}, {where}" if where else text, number, queues, name)

    def _note(
        self, text: str, number: int = 0, queues: tuple[str, ...] = (), feature: str = ""
    ) -> None:
        self._events.append(Happening(self._world.clock.now_us, text, number, queues, feature))

    def _name(self, session: int) -> str:
        if session not in self._names:
            *clients, drainer = self._world.actors
            named = [*((actor.name, actor) for actor in clients), ("the last client", drainer)]
            for name, actor in named:
                for channel in actor.session.channels if actor.session else ():
                    self._names[channel.session] = f"{name}, channel {channel.number},"
        return self._names.get(session, f"session {session}")


class ToldLedger(Ledger):
    """A feature's ledger that tells ``listener`` of each message before it judges: what happened to
    it, its number, and the queues."""

    def __init__(self, name: str, listener: Callable[[str, int, tuple[str, ...]], None]) -> None:
        super().__init__(name)
        self._listener = listener

    def post(
        self, line: int, places: Iterable[Iterable[str]], wall_ms: int, life: int, key: str = ""
    ) -> Post:
        post = super().post(line, places, wall_ms, life, key)
        queues = sorted({queue for place in post.places for queue in place})
        self._listener("publishes", post.number, tuple(queues))
        return post

    def confirmed(self, post: Post, wall_ms: int, *, synced: bool) -> None:
        self._listener("is told of the confirm of", post.number, ())
        super().confirmed(post, wall_ms, synced=synced)

    def delivered(
        self,
        queue: str,
        number: int,
        held: Iterable[tuple[str, int]],
        *,
        may_be_again: bool = False,
    ) -> Post:
        self._listener("is handed", number, (queue,))
        return super().delivered(queue, number, held, may_be_again=may_be_again)

    def settled(self, line: int, queue: str, number: int) -> None:
        self._listener("takes for good", number, (queue,))
        super().settled(line, queue, number)
