"""An app's observation: the client tells it what happens, and who asks is answered from here, on
any thread."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mqkit.consumer.queue_handle import AnyConsumer, QueueHandle
from mqkit.metrics.meters import Meters
from mqkit.observation.telling import ConsumerTelling
from mqkit.program_hook import ProgramHooks
from mqkit.supervision.states import Change, State
from mqkit.topology.cache import Redeclared

if TYPE_CHECKING:
    from mqkit.health.examiner import Examiner
    from mqkit.health.report import Health
    from mqkit.observation.event import Event
    from mqkit.settings import Settings
    from mqkit.topology.planning.quarantine import Quarantined


class Observation:
    """Lives as long as its app, through all times that the app is entered."""

    def __init__(self, settings: Settings) -> None:
        measures = settings.metrics
        self.meters = Meters(measures=settings.health is not None if measures is None else measures)
        self.events: ProgramHooks[Event] = ProgramHooks("observe")
        self._settings = settings
        self._examiner: Examiner | None = None
        self._refused: tuple[Quarantined, ...] = ()

    # -- what the client tells ---------------------------------------------------------------

    def begins(self) -> None:
        """The app is entered: it connects."""
        self._refused = ()
        self.meters.connection.begin()
        self._tell_of_connection(State.CLOSED, State.CONNECTING)

    def changed(self, change: Change) -> None:
        """The supervisor has made ``change``."""
        self.meters.connection.changed(change)
        self._tell_of_connection(change.before, change.after, change.detail)

    def declared(self, declared: Redeclared) -> None:
        """The topology is declared, but for what the broker refused."""
        self._refused = declared.quarantined
        if not self.events.is_empty:
            from mqkit.observation.event import RefusedObject, TopologyDeclared

            refused = tuple(map(RefusedObject.of, declared.quarantined))
            self.events.put(TopologyDeclared(declared.declared, refused))

    def consumer_begins(self, consumer: AnyConsumer, queue: QueueHandle) -> None:
        """``consumer`` of ``queue`` is made, and is going to run."""
        is_temporary = queue.temporary is not None
        self.meters.begins(consumer, queue.name, is_temporary=is_temporary)
        consumer.observe(ConsumerTelling(consumer, self.events))

    def consumer_ended(self, consumer: AnyConsumer) -> None:
        """``consumer`` does not run any more. Idempotent."""
        self.meters.ended(consumer)

    async def close(self) -> None:
        """The app ends, and nothing more will happen: return when its events are told, as far as
        time allows."""
        await self.events.close()

    def ended(self, consumers: Iterable[AnyConsumer]) -> None:
        """The app has ended, in whatever way, and with it ``consumers``."""
        self.meters.connection.end()
        for consumer in consumers:
            self.meters.ended(consumer)

    # -- what is asked -----------------------------------------------------------------------

    @property
    def examiner(self) -> Examiner:
        """Who says how healthy the app is; the same one each time."""
        if self._examiner is None:
            from mqkit.health.examiner import Examiner  # who does not ask does not load it

            self._examiner = Examiner(self._settings, self.meters)
        return self._examiner

    def health(self) -> Health:
        """The app's health as it is now."""
        return self.examiner.examine(self._refused)

    # -- its own -----------------------------------------------------------------------------

    def _tell_of_connection(self, before: State, after: State, why: str = "") -> None:
        if not self.events.is_empty:
            from mqkit.observation.event import ConnectionChanged

            self.events.put(ConnectionChanged(before, after, why))
