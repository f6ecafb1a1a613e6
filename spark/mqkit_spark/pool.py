"""The connection that outlives a task: Spark reuses its Python workers.

The pool belongs to the process that fills it - a forked worker starts with an empty one - and holds
idle connections only: who borrows one has it alone. A worker runs one task at a time, so one idle
connection is kept; it is closed after :data:`IDLE_MAX_S`, by a thread that is there while something
is idle. The pool is filled on first use, never at import, so that nothing of it is pickled.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from mqkit.transport.blocking import BlockingConnection
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit.transport.seam import Endpoint
from mqkit.transport.window_size import WindowSize
from mqkit_spark.connecting import connect
from mqkit_spark.options.connection import ConnectionOptions
from mqkit_spark.options.sink import SinkOptions

IDLE_MAX_S = 60.0
"""An idle connection is closed after this time."""

IDLE_MAX = 1
"""The most idle connections that are kept; the one idle longest goes first."""

_Key = tuple[tuple[Endpoint, ...], BlockingChoice, WindowSize]


@dataclass(slots=True)
class _Idle:
    key: _Key
    connection: BlockingConnection
    since_s: float


class Pool:
    """The idle connections of one process. Thread-safe."""

    def __init__(
        self, idle_max_s: float = IDLE_MAX_S, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._idle_max_s = idle_max_s
        self._monotonic_s = monotonic_s
        self.forget()

    def forget(self) -> None:
        """Begin anew, in a forked child: what the parent has stays the parent's."""
        self._idle: list[_Idle] = []
        self._changed = threading.Condition()
        self._closer: threading.Thread | None = None

    @contextmanager
    def borrowed(
        self, options: ConnectionOptions, window: WindowSize
    ) -> Iterator[BlockingConnection]:
        """A connection for one task: an idle one that is still open, or a new one.

        It goes back to the pool at the end of the block, unless the block raised: then it is
        closed, with whatever is in flight on it. Raises what connecting raises.
        """
        key = (options.endpoints(), options.transport, window)
        connection = self._take(key)
        if connection is None:
            connection = connect(options, name="mqkit-spark", window=window)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._give(key, connection)

    def close_idle(self) -> float | None:
        """Close what is idle for too long; the seconds until the next is, ``None`` if nothing is
        idle."""
        now_s = self._monotonic_s()
        with self._changed:
            gone = [it for it in self._idle if now_s - it.since_s >= self._idle_max_s]
            self._idle = [it for it in self._idle if now_s - it.since_s < self._idle_max_s]
        for idle in gone:
            idle.connection.close()
        with self._changed:  # closing takes its time: another may be idle by now
            return self._until_next_s()

    def _until_next_s(self) -> float | None:
        next_s = min((it.since_s for it in self._idle), default=None)
        return None if next_s is None else next_s + self._idle_max_s - self._monotonic_s()

    def _take(self, key: _Key) -> BlockingConnection | None:
        with self._changed:
            for position, idle in enumerate(self._idle):
                if idle.key == key and idle.connection.is_open:
                    del self._idle[position]
                    return idle.connection
        return None

    def _give(self, key: _Key, connection: BlockingConnection) -> None:
        with self._changed:
            open_ones = [it for it in self._idle if it.connection.is_open]
            if connection.is_open:
                open_ones.append(_Idle(key, connection, self._monotonic_s()))
            kept = open_ones[-IDLE_MAX:]
            gone = [it for it in self._idle if it not in kept]
            self._idle = kept
            if kept and self._closer is None:
                self._closer = threading.Thread(
                    target=self._close_by_and_by, name="mqkit-spark-pool", daemon=True
                )
                self._closer.start()
            self._changed.notify_all()
        for idle in gone:
            idle.connection.close()
        if not connection.is_open:
            connection.close()

    def _close_by_and_by(self) -> None:
        while True:
            self.close_idle()
            with self._changed:
                delay_s = self._until_next_s()
                if delay_s is None:
                    self._closer = None
                    return
                self._changed.wait(delay_s)


_pool = Pool()
os.register_at_fork(after_in_child=_pool.forget)


def borrowed(options: SinkOptions) -> AbstractContextManager[BlockingConnection]:
    """A connection of this process's pool, with the window of ``options``; see
    :meth:`Pool.borrowed`."""
    return _pool.borrowed(options, options.window)
