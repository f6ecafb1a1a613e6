"""The lots of a topology, carried out by the clock, in one of several processes at a time.

    lots = Lots(topology, settings=app.settings)

    @lots.on_alert
    async def page_somebody(alert: Alert) -> None: ...

    app.run(lots)                       # beside an app, until it ends
    async with lots: ...                # beside anything else
    await lots()                        # alone, until it is cancelled
    await lots.once()                   # one pass, from cron

Have as many processes run it as you like: each lot has one leader, and the others wait.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

import anyio

from mqkit.beside import beside_the_block
from mqkit.errors import (
    ConfigurationError,
    ConnectionRefused,
    DeadlineExceeded,
    TransportError,
)
from mqkit.lots.alerts.alert import Alert
from mqkit.lots.alerts.states import AlertBook
from mqkit.lots.alerts.telling import AlertTelling
from mqkit.lots.clock import archiving
from mqkit.lots.clock.archiving import ArchiveFor
from mqkit.lots.clock.delivery_limit import counts_looks
from mqkit.lots.clock.events import LotEvent, OnEvent
from mqkit.lots.clock.looked import Looked
from mqkit.lots.clock.step import step
from mqkit.lots.clock.tending import LOCK_EVERY_S, Setting, Tended, Tending
from mqkit.lots.clock.window import Now
from mqkit.lots.publishing import PublishOver
from mqkit.message import Delivery
from mqkit.retry.parked import ParkedMessage
from mqkit.supervision.pauses import ReconnectPauses
from mqkit.timing.clock import SYSTEM_CLOCK, Clock
from mqkit.topology.lot_model import LotModel
from mqkit.topology.model import Topology
from mqkit.topology.retrying.known_lots import known_lots
from mqkit.transport.choice import chosen
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Connection, Endpoint, Transport

if TYPE_CHECKING:
    from mqkit.settings import Settings

FunctionT = TypeVar("FunctionT", bound=Callable[[Alert], object])

CONNECTION_NAME = "mqkit lots"
_LOG = logging.getLogger(__name__)


def utc_now() -> datetime:
    """The time of the machine's clock, which the times on messages are compared with."""
    return datetime.now(UTC)


def tended_of(topology: Topology) -> tuple[LotModel, ...]:
    """The lots of ``topology``, and its queues with an alert as lots that nothing leaves."""
    watched = (
        LotModel(queue.name, alert=queue.alert, line=queue.line)
        for queue in topology.queues
        if queue.alert is not None
    )
    return (*topology.lots, *watched)


class Lots:
    """The lots, and the queues with an alert, of ``topology``.

    ``endpoints`` are the brokers to try, those of ``settings`` without them; ``settings`` say how
    to connect, and where alerts are POSTed to (``alert_webhook``). ``on_event`` is called with what
    happens; it must return at once, and not raise. ``archive_for`` makes the archives.

    Raises :exc:`~mqkit.errors.ConfigurationError` where the file has no lots, or where one can't be
    carried out as it says.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        settings: Settings | None = None,
        endpoints: Sequence[Endpoint] | None = None,
        transport: Transport | str | None = None,
        on_event: OnEvent | None = None,
        archive_for: ArchiveFor | None = None,
        lock_every_s: float = LOCK_EVERY_S,
        clock: Clock = SYSTEM_CLOCK,
        now: Now = utc_now,
    ) -> None:
        if settings is None:
            from mqkit.settings import Settings  # which brings pydantic

            settings = Settings.load()
        models = tended_of(topology)
        if not models:
            raise ConfigurationError(
                f"{topology.file} has no 'lots:', and no queue with an 'alert:': nothing to run"
            )
        make = archive_for or archiving.archive_for
        self._topology = topology
        self._settings = settings
        self._endpoints = tuple(endpoints or settings.endpoints)
        _check_vhost(topology, self._endpoints)
        named = settings.transport if transport is None else transport
        # An archive keeps headers with their types, which only exact properties have.
        self._transport = NativeTransport(exact=True) if named == "native" else chosen(named)
        vhost = self._endpoints[0].vhost
        self._tended = [
            Tended(
                lot,
                None if lot.archive is None else make(lot.archive, vhost),
                AlertBook(lot.name),
            )
            for lot in models
        ]
        secret = settings.alert_webhook
        self.alerts = AlertTelling(secret.get_secret_value() if secret else None, clock)
        """The counters of alerts, by kind."""
        self._setting = Setting(
            on_event or _silent, self.alerts.tell, clock, now, self._read, lock_every_s
        )
        self._known = known_lots(topology)
        self._block: AbstractAsyncContextManager[None] | None = None

    def _read(self, delivery: Delivery, lot: str) -> ParkedMessage:
        return ParkedMessage.of(delivery, lot, self._known)

    def on_alert(self, function: FunctionT) -> FunctionT:
        """Have the decorated function told of each :class:`~mqkit.lots.Alert`: once when a limit is
        reached, once when that is over. After a change of leader it may be told again."""
        self.alerts.add(function)
        return function

    def publish_by(self, publish_over: PublishOver) -> None:
        """Have what goes back published by ``publish_over``, from the next connect on: for
        :func:`mqkit.otel.instrument`."""
        self._setting.publish_over = publish_over

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The brokers to try."""
        return self._endpoints

    @property
    def totals(self) -> dict[str, Looked]:
        """The messages seen, returned and archived so far, by lot."""
        return {tended.lot.name: tended.totals for tended in self._tended}

    async def __call__(self) -> None:
        """Run until the task is cancelled. A window that is begun is ended first, so that no
        message is there twice.

        Raises what ends the first connect: :exc:`~mqkit.errors.ConnectionRefused` for a login.
        """
        pauses = ReconnectPauses(self._settings.reconnect_first_s, self._settings.reconnect_max_s)
        was_connected = False
        try:
            for endpoint in itertools.cycle(self._endpoints):
                problem: Exception | None = None
                try:
                    connection = await self._connect(endpoint)
                except ConnectionRefused as error:
                    if not was_connected:
                        raise
                    problem = error
                    _LOG.warning("lots: %s refused the connection", endpoint)
                except (TransportError, DeadlineExceeded) as error:
                    problem = error
                    _LOG.warning("lots: %s", error)
                else:
                    was_connected = True
                    pauses.reset()
                    await self._tend_all(connection)
                await self._setting.clock.sleep(pauses.next_s(problem))
        finally:
            with anyio.CancelScope(shield=True):
                await self.alerts.close()

    async def once(self) -> None:
        """One pass over all lots that no other process runs. An alert is told by each pass.

        Raises :exc:`~mqkit.errors.MqkitError` where the broker can't be reached.
        """
        connection = await self._connect(self._endpoints[0])
        # Nobody declares a queue between this pass and the next look at it.
        setting = replace(self._setting, misses=1)
        try:
            for tending in self._tendings(connection, setting):
                await tending.turn()
        finally:
            with anyio.CancelScope(shield=True):
                await self._close(connection)
                await self.alerts.close()

    async def __aenter__(self) -> Self:
        if self._block is not None:
            raise ConfigurationError("the lots are running already")
        self._block = beside_the_block([self.__call__])
        await self._block.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        block, self._block = self._block, None
        assert block is not None
        return await block.__aexit__(kind, error, trace)

    async def _connect(self, endpoint: Endpoint) -> Connection:
        return await self._transport.connect(
            endpoint,
            name=f"{CONNECTION_NAME} ({self._settings.connection_name})",
            timeout_s=self._settings.connect_timeout_s,
            heartbeat_s=self._settings.heartbeat_s,
        )

    async def _tend_all(self, connection: Connection) -> None:
        """Tend every lot over ``connection`` until it is gone."""
        gone = asyncio.Event()
        connection.on_closed(lambda error: gone.set())
        try:
            async with anyio.create_task_group() as tasks:
                for tending in self._tendings(connection, self._setting):
                    tasks.start_soon(_until_gone, tending, gone)
                await gone.wait()
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._close(connection)

    def _tendings(self, connection: Connection, setting: Setting) -> list[Tending]:
        unblocked = asyncio.Event()
        unblocked.set()

        def note(reason: str | None) -> None:
            (unblocked.set if reason is None else unblocked.clear)()

        connection.on_blocked(note)
        server = connection.server_properties
        return [
            Tending(
                tended,
                connection,
                unblocked,
                setting,
                counts_looks=counts_looks(server, self._topology, tended.lot.name),
            )
            for tended in self._tended
        ]

    async def _close(self, connection: Connection) -> None:
        try:
            async with step(self._setting.clock, "the end of the connection"):
                await connection.close()
        except (TransportError, DeadlineExceeded) as error:
            _LOG.info("lots: %s", error)


async def _until_gone(tending: Tending, gone: asyncio.Event) -> None:
    """Tend until the connection is gone, or says nothing any more, which is as good as that."""
    try:
        await tending.run()
    except (TransportError, ConnectionRefused, DeadlineExceeded) as error:
        _LOG.warning("lots: %s", error)
        gone.set()


def _check_vhost(topology: Topology, endpoints: Sequence[Endpoint]) -> None:
    for endpoint in endpoints:
        if topology.vhost is not None and topology.vhost != endpoint.vhost:
            raise ConfigurationError(
                f"{topology.file} is for the vhost {topology.vhost!r}, but the URL {endpoint}"
                f" leads to {endpoint.vhost!r}: write the vhost into the URL"
            )


def _silent(event: LotEvent) -> None:
    """Nobody watches."""
