"""An app's observation: the client tells it what happens, and who asks is answered from here, on
any thread."""

from __future__ import annotations

from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from mqkit.consumer.queue_handle import AnyConsumer, QueueHandle
from mqkit.health import Health
from mqkit.health.examination import ConsumerFacts, Facts, Limits, examine
from mqkit.health.progress import Progress
from mqkit.health.pulse import Pulse
from mqkit.metrics import Meters
from mqkit.observation.event import ConnectionChanged, Event, RefusedObject, TopologyDeclared
from mqkit.observation.telling import ConsumerTelling
from mqkit.program_hook import ProgramHooks
from mqkit.supervision.states import Change, State
from mqkit.topology.cache import Redeclared
from mqkit.topology.planning.plan import name_of
from mqkit.topology.planning.quarantine import Quarantined

if TYPE_CHECKING:
    from mqkit.settings import Settings


class Observation:
    """Lives as long as its app, through all times that the app is entered."""

    def __init__(self, settings: Settings) -> None:
        measures = settings.metrics
        self.meters = Meters(measures=settings.health is not None if measures is None else measures)
        self.pulse = Pulse()
        self._limits = Limits(
            settings.health_live_s, settings.health_blocked_s, settings.health_stalled_s
        )
        self._progress = Progress()
        self._looking = Lock()
        self.events: ProgramHooks[Event] = ProgramHooks("observe")
        self._refused: tuple[RefusedObject, ...] = ()

    # -- what the client tells ---------------------------------------------------------------

    def begins(self) -> None:
        """The app is entered: it connects."""
        self._refused = ()
        self.meters.connection.begin()
        self.events.put(ConnectionChanged(State.CLOSED, State.CONNECTING))

    def changed(self, change: Change) -> None:
        """The supervisor has made ``change``."""
        self.meters.connection.changed(change)
        self.events.put(ConnectionChanged(change.before, change.after, change.detail))

    def declared(self, declared: Redeclared) -> None:
        """The topology is declared, but for what the broker refused."""
        self._refused = tuple(map(_refused, declared.quarantined))
        self.events.put(TopologyDeclared(declared.declared, self._refused))

    def consumer_begins(self, consumer: AnyConsumer, queue: QueueHandle) -> None:
        """``consumer`` of ``queue`` is made, and is going to run."""
        is_temporary = queue.temporary is not None
        self.meters.begins(consumer, queue.name, is_temporary=is_temporary)
        consumer.observe(ConsumerTelling(consumer, self.events))

    def consumer_ended(self, consumer: AnyConsumer) -> None:
        """``consumer`` does not run any more. Idempotent."""
        self.meters.ended(consumer)

    async def close(self) -> None:
        """The app has ended: return when its events are told, as far as time allows."""
        await self.events.close()

    # -- what is asked -----------------------------------------------------------------------

    def health(self) -> Health:
        """The app's health as it is now."""
        connection = self.meters.connection.values
        consumers = self.meters.running
        with self._looking:
            stalled_s = self._progress.look(consumers, monotonic())
        facts = Facts(
            connection.state,
            self.pulse.age_s,
            connection.blocked_for_s,
            tuple((refused.name, refused.reply_code) for refused in self._refused),
            tuple(_facts(consumer, stalled_s[consumer]) for consumer in consumers),
        )
        return examine(facts, self._limits)


def _facts(consumer: AnyConsumer, stalled_s: float) -> ConsumerFacts:
    return ConsumerFacts(
        consumer.queue, consumer.handler_name, consumer.state, stalled_s, consumer.patience_s
    )


def _refused(refused: Quarantined) -> RefusedObject:
    kind = type(refused.declaration).__name__.lower()
    error = refused.error
    return RefusedObject(
        f"{kind} {name_of(refused.declaration)}", error.reply_code, error.reply_text
    )
