"""A run of a migration: begun, taken up again, or turned back; step by step, by the journal.

The journal is opened when the lock is there: what it tells is true until this run changes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from mqkit.declaration import Queue
from mqkit.errors import ChannelError, ConfigurationError
from mqkit.topology.live.management import open_management
from mqkit.topology.live.product import REFERENCE_BROKER, Product
from mqkit.topology.migration.acts import ACTS
from mqkit.topology.migration.checking import check_migration
from mqkit.topology.migration.journal import Journal, OnRecord
from mqkit.topology.migration.migration import Direction
from mqkit.topology.migration.quiet import SETTLE_RABBITMQ_S, SETTLE_REFERENCE_S
from mqkit.topology.migration.report import Outcome, Report
from mqkit.topology.migration.session import Session, Site, deadline, locked
from mqkit.topology.migration.steps import Event, Step
from mqkit.topology.migration.stopped import Stopped
from mqkit.topology.migration.ways import declare_temporary
from mqkit.topology.model import Topology
from mqkit.topology.planning.diff import differences_between
from mqkit.topology.snapshot import Snapshot, take_snapshot
from mqkit.topology.throwaway import ThrowAwayChannel
from mqkit.transport.seam import Connection


@dataclass(frozen=True, slots=True)
class Request:
    """``queue`` of ``topology`` is to be as the file says, or with ``abort`` as it was. ``journal``
    is the path of the journal, which a run that goes on has to be given again."""

    topology: Topology
    queue: str
    journal: Path
    abort: bool = False
    gap: bool = False


async def migrate(
    site: Site, request: Request, *, on_record: OnRecord = lambda record: None
) -> Report:
    """Migrate a queue, from wherever its journal stands. Idempotent: call it again after a kill, or
    when what stopped it is mended.

    ``on_record`` is called with each record of the journal once it is on the disk; what it raises
    ends the run there.

    Raises :exc:`Stopped` before anything is done, where the migration would lose messages, and
    :exc:`~mqkit.errors.ConfigurationError` for a queue that the file or the broker does not have.
    What stops it later is in the report. Errors of the connection are raised; the next run goes on.
    """
    async with locked(site, request.queue) as connection:
        if request.abort and not request.journal.exists():
            raise ConfigurationError(f"there is no journal {request.journal}: nothing is under way")
        journal = Journal.opened(request.journal)
        journal.on_record = on_record
        try:
            if not await _is_under_way(site, request, journal, connection):
                return Report(request.queue, Outcome.NOTHING)
            settle_s = await _settle_s(site) if site.settle_s is None else site.settle_s
            async with ThrowAwayChannel(connection.channel) as channel:
                session = Session(site, connection, journal, channel, settle_s, request.gap)
                return await _run(session, request)
        finally:
            journal.close()


async def _is_under_way(
    site: Site, request: Request, journal: Journal, connection: Connection
) -> bool:
    """False if there is nothing to do; a new migration is begun where none is under way."""
    _check_owner(request, journal)
    if not journal.is_new and not journal.progress.is_finished:
        if not request.abort and journal.progress.direction is Direction.BACK:
            raise ConfigurationError("an abort is under way: finish it with --abort")
        return True
    if request.abort:
        raise ConfigurationError("nothing is under way: the migration is finished")
    snapshot = await take_snapshot(
        site.management_url, site.endpoint.vhost, timeout_s=site.timeout_s
    )
    snapshot = await _counted(site, snapshot, request.queue, connection)
    checked = check_migration(request.topology, snapshot, request.queue, gap=request.gap)
    if checked.refusals:
        raise Stopped(
            f"{request.queue!r} is not migrated, and nothing was changed: "
            + "; ".join(checked.refusals)
        )
    if checked.migration is None:
        return False
    journal.begin(checked.migration)
    return True


async def _counted(site: Site, snapshot: Snapshot, queue: str, connection: Connection) -> Snapshot:
    """The snapshot with the messages that are in the queue now: its own count may be old."""
    async with (
        deadline(site, f"the depth of {queue!r}"),
        ThrowAwayChannel(connection.channel) as channel,
    ):
        try:
            state = await channel.run(lambda on: on.declare_queue(Queue(queue), passive=True))
        except ChannelError:  # it is not there, or somebody's own: the check says so
            return snapshot
    ready = state.message_count
    queues = [
        replace(it, messages=max(ready, it.messages or 0)) if it.queue.name == queue else it
        for it in snapshot.queues
    ]
    return replace(snapshot, queues=tuple(queues))


def _check_owner(request: Request, journal: Journal) -> None:
    if not journal.is_new and journal.progress.migration.queue != request.queue:
        raise ConfigurationError(
            f"{request.journal} is the journal of {journal.progress.migration.queue!r}: name"
            " another place with --journal"
        )


async def _settle_s(site: Site) -> float:
    """The age that the counts of this product's management API may have. (Over AMQP the reference
    broker says that it is RabbitMQ, so that clients treat it so.)"""
    async with open_management(
        site.management_url, site.endpoint.vhost, timeout_s=site.timeout_s
    ) as management:
        product = Product.of(await management.overview())
    return SETTLE_REFERENCE_S if product.name == REFERENCE_BROKER else SETTLE_RABBITMQ_S


async def _run(session: Session, request: Request) -> Report:
    journal = session.journal
    try:
        await _turn(session, request)
        if journal.progress.step is not Step.DECLARE:
            await declare_temporary(session)  # whatever is gone, as after a kill in the last step
        while not journal.progress.is_finished:
            step = journal.progress.step
            journal.begun(step)
            journal.done(step, await ACTS[step](session))
    except Stopped as stopped:
        return Report.of(journal.progress, Outcome.STOPPED, str(stopped))
    is_back = journal.progress.direction is Direction.BACK
    return Report.of(journal.progress, Outcome.ABORTED if is_back else Outcome.FINISHED)


async def _turn(session: Session, request: Request) -> None:
    """Note what has changed while nobody was here: the wish, or the queue."""
    journal = session.journal
    step, direction = journal.progress.step, journal.progress.direction
    live = await session.live()
    if request.abort and direction is Direction.FORWARD:
        if live is None:
            event = Event.ABORT_MISSING
        else:
            is_old = not differences_between(session.migration.old, live)
            event = Event.ABORT_OLD if is_old else Event.ABORT_NEW
        journal.aborts(event)
    elif live is None and step is not Step.REPLACE:
        journal.begun(step)
        journal.done(step, Event.MISSING)
