"""Connections that outlive a task: Spark reuses its Python workers.

The pool belongs to the process that fills it - a forked worker starts with an empty one of its
own - and holds idle connections only: who borrows one has it alone. It is filled on first use,
never at import, so that nothing of it is pickled or forked.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mqkit.transport.blocking import BlockingConnection
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit.transport.seam import Endpoint
from mqkit.transport.window_size import WindowSize
from mqkit_spark.connecting import connect
from mqkit_spark.options import SinkOptions

IDLE_MAX_S = 60.0
"""An idle connection is closed at the next use of the pool after this time."""

IDLE_MAX = 4
"""The most idle connections that are kept; the one idle longest goes first."""

_Key = tuple[int, tuple[Endpoint, ...], BlockingChoice, WindowSize]


@dataclass(slots=True)
class _Idle:
    key: _Key
    connection: BlockingConnection
    since: float


_idle: list[_Idle] = []
_lock = threading.Lock()


@contextmanager
def borrowed(options: SinkOptions) -> Iterator[BlockingConnection]:
    """A connection for one task: an idle one that is still open, or a new one.

    It goes back to the pool at the end of the block, unless the block raised: then it is closed,
    with whatever is in flight on it. Raises what connecting raises.
    """
    window = WindowSize(options.max_in_flight, options.max_in_flight_bytes)
    key = (os.getpid(), options.endpoints(), options.transport, window)
    connection = _take(key)
    if connection is None:
        connection = connect(options, name="mqkit-spark", window=window)
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
    _give(key, connection)


def _take(key: _Key) -> BlockingConnection | None:
    with _lock:
        for position, idle in enumerate(_idle):
            if idle.key == key and idle.connection.is_open:
                del _idle[position]
                return idle.connection
    return None


def _give(key: _Key, connection: BlockingConnection) -> None:
    now = time.monotonic()
    with _lock:
        _idle.append(_Idle(key, connection, now))
        kept = [
            idle
            for idle in _idle[-IDLE_MAX:]
            if idle.connection.is_open and now - idle.since <= IDLE_MAX_S
        ]
        gone = [idle for idle in _idle if idle not in kept]
        _idle[:] = kept
    for idle in gone:
        idle.connection.close()
