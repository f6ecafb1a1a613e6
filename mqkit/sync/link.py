"""The publishing connection of one process, and its confirm channels, for all of its threads.

    caller ──lane──> a channel that several callers share, while the broker takes publishes
       └── none ──> mender: a thread that connects, declares the topology, opens channels

The mender is there while something is missing and somebody waits for it, so a program that
publishes nothing holds no thread that tries, and a caller's deadline never cuts an attempt short
that others wait for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mqkit.declaration import Declaration
from mqkit.errors import Closed, MqkitError
from mqkit.supervision.attempts import most_telling
from mqkit.supervision.refusal_log import RefusalLog
from mqkit.sync.declaring import declare_all
from mqkit.sync.patience import Patience
from mqkit.timing.clock import ThreadClock
from mqkit.topology import TopologyCache
from mqkit.transport.blocking import BlockingChannel, BlockingConnection, BlockingTransport
from mqkit.transport.waiters import Waiters

if TYPE_CHECKING:
    from mqkit.settings import Settings


@dataclass(slots=True, eq=False)
class Lane:
    """A confirm channel, and how many callers wait for outcomes on it."""

    connection: BlockingConnection
    channel: BlockingChannel
    callers: int = 0

    @property
    def was_refused(self) -> bool:
        """True if the broker has closed the channel alone: for one of the messages on it."""
        return not self.channel.is_open and self.connection.is_open


class Link:
    """Thread-safe. A forked child makes its own: this one's lock may be taken for ever there.

    Nothing is opened before the first :meth:`lane`. :meth:`begin` each call, and :meth:`end` it.
    """

    def __init__(
        self,
        transport: BlockingTransport,
        settings: Settings,
        declarations: Iterable[Declaration] = (),
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._cache = TopologyCache()
        self._cache.add(declarations)
        self._refusals = RefusalLog(ThreadClock())
        self._patience = Patience(settings.reconnect_first_s, settings.reconnect_max_s)
        self._lock = threading.RLock()  # a signal handler may publish
        self._changed = Waiters()
        self._ended = Waiters()
        """Who waits for the calls to end, or for the link to be closed."""
        self._calls = 0
        self._is_closing = self._is_closed = False
        self._mender: threading.Thread | None = None
        self._connection: BlockingConnection | None = None
        self._lanes: list[Lane] = []
        self._lone: Lane | None = None
        self._wants_lone = False
        self._lone_turn = threading.Lock()
        self._blocked: str | None = None

    # -- what calls do -----------------------------------------------------------------------

    def begin(self) -> None:
        """A call begins. Raises :exc:`~mqkit.errors.Closed`."""
        with self._lock:
            if self._is_closing:
                raise Closed("the app is closed")
            self._calls += 1

    def end(self) -> None:
        """A call is over."""
        with self._lock:
            self._calls -= 1
            if self._is_closing:
                self._ended.wake()

    @property
    def blocked(self) -> str | None:
        """The broker's reason while it blocks publishers, else ``None``."""
        return self._blocked

    def describe(self) -> str:
        """The state in words, with the last problem where there is one."""
        if self._blocked is not None:
            return f"blocked: the broker blocks: {self._blocked}"
        connection = self._connection
        if connection is not None and connection.is_open:
            return "ready"
        problem = self._patience.problem
        return "connecting" if problem is None else f"connecting: {problem}"

    def lane(self, until_s: float, *, waits_when_blocked: bool) -> Lane | str | None:
        """The lane with the fewest callers, with the caller on it: :meth:`leave` it.

        The broker's reason, where it blocks and the caller does not wait for that to end; ``None``
        when the time is over first. Raises :exc:`~mqkit.errors.Closed`, and what lets the first
        connect fail for good (a refused login); another call tries again.
        """
        while True:
            with self._lock:
                found = self._found(waits_when_blocked)
                if found is not None:
                    return found
                place = self._changed.place()
            if not self._waited(place, self._changed, until_s):
                return None

    def leave(self, lane: Lane) -> None:
        """A caller has its outcomes, or has given up."""
        with self._lock:
            lane.callers -= 1

    @contextmanager
    def lone_lane(self, until_s: float) -> Iterator[Lane | None]:
        """A lane for this caller alone, for one message after the other; ``None`` when the time is
        over first. Raises as :meth:`lane`."""
        left_s = min(max(until_s - time.monotonic(), 0.0), threading.TIMEOUT_MAX)
        if not self._lone_turn.acquire(timeout=left_s):
            yield None
            return
        try:
            yield self._wait_for_lone_lane(until_s)
        finally:
            with self._lock:
                self._wants_lone = False
                if self._lone is not None and not self._lone.channel.is_open:
                    self._lone = None
            self._lone_turn.release()

    def close(self, drain_s: float) -> None:
        """Begin no more calls, wait so long for those under way, then close the connection. Calls
        that are left raise :exc:`~mqkit.errors.Closed`. Idempotent."""
        until_s = time.monotonic() + drain_s
        self._is_closing = True
        while True:
            with self._lock:
                if not self._calls:
                    break
                place = self._ended.place()
            if not self._waited(place, self._ended, until_s):
                break
        with self._lock:
            self._is_closed = True
            connection, self._connection = self._connection, None
            self._lanes, self._lone = [], None
            self._changed.wake()
            self._ended.wake()
        if connection is not None:
            connection.close()

    # -- waiting -----------------------------------------------------------------------------

    def _waited(self, place: threading.Lock, among: Waiters, until_s: float) -> bool:
        """False when the time was over first."""
        left_s = min(max(until_s - time.monotonic(), 0.0), threading.TIMEOUT_MAX)
        if place.acquire(timeout=left_s):
            return True
        with self._lock:
            among.leave(place)
        return False

    def _found(self, waits_when_blocked: bool) -> Lane | str | None:
        self._raise_if_over()
        self._mend_what_is_missing()
        if self._blocked is not None:
            return None if waits_when_blocked else self._blocked
        usable = [lane for lane in self._lanes if lane.channel.is_open]
        if not usable:
            return None
        lane = min(usable, key=_callers)
        lane.callers += 1
        return lane

    def _wait_for_lone_lane(self, until_s: float) -> Lane | None:
        while True:
            with self._lock:
                self._raise_if_over()
                self._wants_lone = True
                self._mend_what_is_missing()
                if self._lone is not None and self._lone.channel.is_open and not self._blocked:
                    return self._lone
                place = self._changed.place()
            if not self._waited(place, self._changed, until_s):
                return None

    def _raise_if_over(self) -> None:
        if self._is_closed:
            raise Closed("the app was closed")
        self._patience.raise_if_refused()

    # -- mending -----------------------------------------------------------------------------

    def _mend_what_is_missing(self) -> None:
        if self._mender is None and not self._is_whole():
            self._mender = threading.Thread(target=self._mend, name="mqkit-sync", daemon=True)
            self._mender.start()

    def _is_whole(self) -> bool:
        if self._connection is None or not self._connection.is_open:
            return False
        lanes = self._lanes if self._lone is None else [*self._lanes, self._lone]
        wants_lone = self._wants_lone and self._lone is None
        return not wants_lone and all(lane.channel.is_open for lane in lanes)

    def _mend(self) -> None:
        """All that the mender does."""
        while True:
            with self._lock:
                patience = self._patience
                nobody_waits = patience.problem is not None and self._changed.is_empty
                if self._is_closed or patience.refusal or self._is_whole() or nobody_waits:
                    self._mender = None
                    return
                place = self._ended.place()
            if self._waited(place, self._ended, patience.until_s):
                continue  # a call has ended, or the link is closed
            try:
                self._mend_once()
            except MqkitError as error:
                self._failed(error)
            except BaseException as error:
                self._failed(MqkitError(f"connecting failed: {error!r}"))
                raise

    def _mend_once(self) -> None:
        connection = self._connection
        if connection is not None and connection.is_open:
            self._open_channels(connection)
            return
        connection = self._connect()
        try:
            self._refusals.tell(declare_all(self._cache, connection).quarantined)
            lanes = [
                Lane(connection, connection.channel(confirms=True))
                for _ in range(self._settings.publish_lanes)
            ]
            self._adopt(connection, lanes)
        except BaseException:
            connection.close()
            raise

    def _open_channels(self, connection: BlockingConnection) -> None:
        """In place of those that are closed, and the lone one if it is wanted."""
        lanes = self._lanes
        for at, lane in enumerate(lanes):
            if not lane.channel.is_open:
                lanes[at] = Lane(connection, connection.channel(confirms=True))
        if self._wants_lone and (self._lone is None or not self._lone.channel.is_open):
            self._lone = Lane(connection, connection.channel(confirms=True))
        self._ready()

    def _connect(self) -> BlockingConnection:
        problems: list[MqkitError] = []
        settings = self._settings
        for endpoint in settings.endpoints:
            try:
                return self._transport.connect(
                    endpoint,
                    name=f"{settings.connection_name} (publishing)",
                    timeout_s=settings.connect_timeout_s,
                    heartbeat_s=settings.heartbeat_s,
                )
            except MqkitError as error:
                problems.append(error)
        raise most_telling(problems)

    def _adopt(self, connection: BlockingConnection, lanes: list[Lane]) -> None:
        with self._lock:
            if self._is_closed:
                raise Closed("the app was closed")
            self._connection, self._lanes, self._lone = connection, lanes, None
            self._blocked = None
        connection.on_blocked(partial(self._told_blocked, connection))
        connection.on_closed(lambda _: self._lost(connection))
        self._ready()

    def _ready(self) -> None:
        with self._lock:
            self._patience.ready()
            self._changed.wake()

    def _failed(self, error: MqkitError) -> None:
        with self._lock:
            if not self._is_closed:
                self._patience.failed(error)
            if self._patience.refusal is not None:
                self._changed.wake()

    def _told_blocked(self, connection: BlockingConnection, reason: str | None) -> None:
        """On the connection's thread."""
        with self._lock:
            if self._connection is connection:
                self._blocked = reason
                self._changed.wake()

    def _lost(self, connection: BlockingConnection) -> None:
        """On the connection's thread. The next caller has another one opened."""
        with self._lock:
            if self._connection is connection:
                self._connection = None
                self._blocked = None
                self._patience.lost()
                self._changed.wake()


def _callers(lane: Lane) -> int:
    return lane.callers
