"""Lines into batches, without stopping the event loop and without waiting for a full batch.

    a thread reads --(at most READ_AHEAD lines)--> the loop takes what is there, at least one

So a slow pipe (``tail -f``) is published line by line, and a file in batches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from threading import Semaphore, Thread

BATCH = 1_000
"""Messages published together: as many as a lane has in flight (``publish_window``)."""

BATCH_BYTES = 8 * 1024 * 1024
"""A batch of large messages is shorter."""

READ_AHEAD = 2 * BATCH
"""Lines read and not yet taken: one batch waits while another is published."""


class LineFeed:
    """Reads ``source`` in a thread of its own, from the making on. Make it in a running loop.

    The thread may be stuck in a pipe that nobody writes to: it does not keep the process alive.
    """

    def __init__(self, source: Iterable[bytes]) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._room = Semaphore(READ_AHEAD)
        self._lines: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        Thread(target=self._read, name="line feed", daemon=True).start()

    async def batch(self) -> list[bytes]:
        """The next lines, in order, as soon as there is one; empty at the end, and then for ever.

        Raises what reading raised, after the lines before it.
        """
        found: list[bytes] = []
        size = 0
        while len(found) < BATCH and size < BATCH_BYTES:
            if found and self._lines.empty():
                break
            line = await self._lines.get()
            if not isinstance(line, bytes):
                # The end stays in the queue: the next call finds it too.
                self._lines.put_nowait(line)
                if isinstance(line, Exception) and not found:
                    raise line
                break
            found.append(line)
            size += len(line)
        if found:
            self._room.release(len(found))
        return found

    def _read(self) -> None:
        end: Exception | None = None
        try:
            for line in self._source:
                self._room.acquire()
                self._tell(line)
        except Exception as error:  # noqa: BLE001 - raised again where it can be caught
            end = error
        self._tell(end)

    def _tell(self, line: bytes | Exception | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:
            return  # the loop is closed: nobody listens any more
