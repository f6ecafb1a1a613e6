"""A native connection on a plain socket: a lock around it, and a thread that reads.

    any thread ──turn──> connection (no I/O) ──output──> socket
                                ^                           │
                    own thread ─┴── reads, ticks, writes what the socket did not take at once

A *turn* is what is done under the lock (:meth:`SocketDriver.turn`). At its end the thread whose
turn it is writes the output, as far as the socket takes it without waiting; so a publish needs no
second thread to reach the broker. Then the lock is released, and only then is told what came of
the turn: outcomes, deliveries, that it is closed. So nobody's callback runs under the lock, and all
that the broker causes is told by the own thread, in its order.

Heartbeats are that thread's too: they are kept while callers wait, compute or sleep. (pika's
blocking connection wants ``process_data_events`` for that.) What can lose the connection is a
callback that blocks that thread for two whole intervals, or a call into C that keeps the
interpreter lock for so long.
"""

from __future__ import annotations

import logging
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeAlias, TypeVar

from mqkit.errors import ConfigurationError, MqkitError
from mqkit.message import Properties
from mqkit.transport.connection_thread import ConnectionThread
from mqkit.transport.native.connection import NativeConnection
from mqkit.transport.native.decoding import properties_of
from mqkit.transport.native.over_sockets.answers import Answer, wait_for
from mqkit.transport.native.over_sockets.stream import Stream
from mqkit.transport.native.replies import Promise
from mqkit.transport.seam import Endpoint
from mqkit.transport.waiters import Waiters

_T = TypeVar("_T")
_Told: TypeAlias = tuple[Callable[[Any], None], Any]

_LOG = logging.getLogger(__name__)

LINGER_S = 5.0
"""The time for a closed connection's last octets; a peer that reads nothing gets none."""

LAST_READS_MAX = 16
"""Reads of octets that have arrived already, before a broken connection is given up: a broker's
reason for closing it is in the first, unless many deliveries came before."""

BELL_OCTETS = 64
"""More than have ever been rung before the thread looks up."""


class SocketDriver(ConnectionThread):
    """Owns the socket. :meth:`start` it once, then wait for :attr:`opened`."""

    def __init__(
        self,
        endpoint: Endpoint,
        name: str,
        heartbeat_s: int,
        read_properties: Callable[[bytes], Properties] = properties_of,
    ) -> None:
        super().__init__(f"mqkit-native-{endpoint.host}:{endpoint.port}")
        self.lock = threading.Lock()
        self._owner: int | None = None
        self.opened: Future[None] = Future()
        self.connection = NativeConnection(
            endpoint, name, heartbeat_s, self.opened, _at_turns_end, read_properties
        )
        self._stream: Stream | None = None
        self._selector: selectors.BaseSelector | None = None
        self._bell, self._ringer = socket.socketpair()
        self._rung = False
        self._unsent: deque[bytes | memoryview] = deque()
        self._when_written: list[Callable[[], None]] = []
        self._to_tell: list[_Told] = []
        self._given_up = False
        self._cause: BaseException | None = None
        self._tick_at_s: float | None = None
        self._connect: Callable[[], Stream]

    def start(self, connect: Callable[[], Stream]) -> None:
        """Have the thread connect, and serve the connection until it is closed."""
        self._connect = connect
        self._thread.start()

    def close_copies(self) -> None:
        """See :meth:`ConnectionThread.close_copies`."""
        for copy in (self._selector, self._stream, self._bell, self._ringer):
            if isinstance(copy, Stream):
                copy.close_copy()
            elif copy is not None:
                copy.close()

    # -- turns, on any thread ----------------------------------------------------------------

    def turn(self, act: Callable[[NativeConnection], _T]) -> _T:
        """Do something under the lock, write what it has to say, and tell what came of it.

        Raises what ``act`` raises; what is not mqkit's own ends the connection as well, for nobody
        knows how much was done before it. Raises :exc:`~mqkit.errors.Closed` in a forked child, and
        :exc:`~mqkit.errors.ConfigurationError` in a signal handler that has interrupted a turn.

        The lock is only ever taken by ``with``: Ctrl-C comes between two calls of a function, and
        an ``__enter__`` or ``__exit__`` in Python would leave it taken for ever.
        """
        self.check_process()
        own = threading.get_ident()
        if self._owner == own and self.lock.locked():
            raise ConfigurationError(
                "a signal handler called a connection in the middle of a call of the thread that it"
                " interrupted: set a flag there, and act on it in the program"
            )
        to_tell: list[_Told] = []
        try:
            with self.lock:
                self._owner = own
                try:
                    return self._acted(act)
                finally:
                    to_tell, self._to_tell = self._to_tell, []
                    self._owner = None
        finally:
            _tell(to_tell)

    def wait_until(
        self, is_so: Callable[[], bool], changed: Waiters, deadline_s: float | None
    ) -> bool:
        """Let others have their turns until ``is_so``, or the time (of ``time.monotonic``) is over:
        ``False``. Whoever is interrupted here has done nothing by halves."""
        while (place := self._place_unless(is_so, changed)) is not None:
            left_s = -1.0
            if deadline_s is not None:
                left_s = min(max(deadline_s - time.monotonic(), 0.0), threading.TIMEOUT_MAX)
            if not place.acquire(timeout=left_s):
                with self.lock:
                    changed.leave(place)
                return False
        return True

    def _place_unless(self, is_so: Callable[[], bool], changed: Waiters) -> threading.Lock | None:
        with self.lock:
            self._owner = threading.get_ident()
            try:
                return None if is_so() else changed.place()
            finally:
                self._owner = None

    def _acted(self, act: Callable[[NativeConnection], _T]) -> _T:
        try:
            return act(self.connection)
        except MqkitError:
            raise
        except BaseException as error:
            self._give_up(RuntimeError(f"interrupted by {type(error).__name__}"))
            raise
        finally:
            if not self.is_current():  # acks of callbacks go out together after the last of them
                self._write_out()

    def later(self, call: Callable[[Any], None], argument: object) -> None:
        """Call it when this turn is over. It must not raise."""
        self._to_tell.append((call, argument))

    def when_written(self, call: Callable[[], None]) -> None:
        """Call it, in a turn, when the system has all that was written so far."""
        self._when_written.append(call)

    def ask(
        self, what: str, timeout_s: float, start: Callable[[NativeConnection, Promise], Any]
    ) -> Any:
        """``start`` in a turn, with the promise for its answer; wait for that.

        Raises what ``start`` raises, what the promise fails with,
        :exc:`~mqkit.errors.DeadlineExceeded`, and :exc:`~mqkit.errors.ConfigurationError` in a
        callback of this connection.
        """
        self.check_may_wait(what)
        answer = Answer(self.later)
        self.turn(lambda connection: start(connection, answer))
        return wait_for(answer.future, what, timeout_s)

    def abort(self) -> None:
        """Drop the socket without waiting for anything. Idempotent."""
        with self.lock:
            self._give_up(None)

    # -- inside a turn -----------------------------------------------------------------------

    def _write_out(self) -> None:
        stream = self._stream
        if stream is None or self._given_up:
            return
        unsent = self._unsent
        try:
            if output := self.connection.take_output():
                unsent.append(b"".join(output))
            while unsent:
                sent = stream.send(unsent[0])
                if sent == len(unsent[0]):
                    unsent.popleft()
                elif sent:
                    unsent[0] = memoryview(unsent[0])[sent:]
                else:
                    break
        except OSError as error:
            self._give_up(error)
            return
        except BaseException as error:
            self._give_up(RuntimeError(f"interrupted by {type(error).__name__}"))
            raise
        if unsent:
            self._ring()
        elif self._when_written:
            calls, self._when_written = self._when_written, []
            for call in calls:
                call()

    def _give_up(self, cause: BaseException | None) -> None:
        """Send nothing more; the thread reads what is there, and closes the connection."""
        if not self._given_up:
            self._given_up = True
            self._cause = cause
            self._ring()

    def _ring(self) -> None:
        """Have the thread look up."""
        if not self._rung and not self.is_current():
            self._ringer.send(b"\0")
            self._rung = True  # afterwards: whoever is interrupted in between has it ring twice

    def _release(self) -> list[_Told]:
        """End of the turn; returns what is to be told now."""
        to_tell, self._to_tell = self._to_tell, []
        self._owner = None
        self.lock.release()
        return to_tell

    # -- on the thread -----------------------------------------------------------------------

    def _run(self) -> None:
        cause: BaseException | None = None
        try:
            stream = self._connect()
            with self.lock:
                self._stream = stream
            self._serve(stream)
        except MqkitError as error:
            if not self.opened.done():
                self.opened.set_exception(error)
            cause = error
        except OSError as error:
            cause = error
        except BaseException as error:  # noqa: BLE001 - nobody joins us: it is told below
            _LOG.exception("the thread of a connection failed")
            cause = error
        self._finish(cause)

    def _serve(self, stream: Stream) -> None:
        with selectors.DefaultSelector() as selector:
            self._selector = selector
            selector.register(self._bell, selectors.EVENT_READ)
            selector.register(stream, selectors.EVENT_READ)
            watched = selectors.EVENT_READ
            self._own_turn(stream, is_rung=False)
            while not self.connection.is_closed:
                events = selectors.EVENT_READ
                if stream.waits_to_write:
                    events |= selectors.EVENT_WRITE
                if events != watched:
                    selector.modify(stream, events)
                    watched = events
                ready = selector.select(self._until_tick_s())
                self._own_turn(stream, is_rung=any(key.fileobj is self._bell for key, _ in ready))

    def _own_turn(self, stream: Stream, *, is_rung: bool) -> None:
        self.lock.acquire()
        self._owner = threading.get_ident()
        try:
            if is_rung:
                self._bell.recv(BELL_OCTETS)
                self._rung = False
            self._read(stream)
            if self._tick_at_s is not None and time.monotonic() >= self._tick_at_s:
                self._tick_at_s = None
                self.connection.tick()
            self._write_out()
        finally:
            to_tell = self._release()
            _tell(to_tell)
        if to_tell:
            with self.lock:
                self._write_out()

    def _read(self, stream: Stream) -> None:
        connection = self.connection
        for _ in range(LAST_READS_MAX if self._given_up else 1):
            try:
                data = stream.receive()
            except OSError as error:
                connection.lost(self._cause or error)
                return
            if data is None:
                break
            if not data:
                connection.lost(self._cause)
                return
            connection.receive(data)
        if self._given_up:
            connection.lost(self._cause)

    def _until_tick_s(self) -> float | None:
        tick_s = self.connection.tick_s
        if tick_s is None:
            return None
        now_s = time.monotonic()
        if self._tick_at_s is None:
            self._tick_at_s = now_s + tick_s
        return max(0.0, self._tick_at_s - now_s)

    def _finish(self, cause: BaseException | None) -> None:
        """Nobody may be left waiting, whatever the thread ended of."""
        self.lock.acquire()
        try:
            self.connection.lost(cause)
            stream, self._stream = self._stream, None
            rest = b"" if self._given_up else b"".join(self._unsent)
            self._unsent.clear()
            self._given_up = True
            self._rung = True  # nobody looks up any more
        finally:
            _tell(self._release())
        if stream is not None:
            if rest:
                stream.linger(rest, LINGER_S)
            stream.close()
        self._bell.close()
        self._ringer.close()


def _tell(to_tell: list[_Told]) -> None:
    for call, argument in to_tell:
        call(argument)


def _at_turns_end() -> None:
    """The connection has output. Every turn looks for that at its end."""
