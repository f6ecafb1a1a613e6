"""The demo's broker: ``mqkit broker run`` in a process of its own, to be killed and started again.

free ports, at the first start  ->  the same ports and the same data folder at every other
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from mqkit_cli.demo.process_group import end_group
from mqkit_cli.errors import CommandError

READY_TIMEOUT_S = 30.0
"""From the start to "ready", recovery of a data folder included."""

STOP_TIMEOUT_S = 10.0
"""``mqkit broker run`` promises to be gone within this after a SIGTERM."""

LOOPBACK_ANY_PORT = "127.0.0.1:0"


class BrokerProcess:
    """An async context manager: a broker runs within it, and none is left afterwards.

    ``data_dir`` is its data folder; what it says on stderr goes to ``log``.
    """

    def __init__(self, data_dir: Path, log: Path) -> None:
        self.data_dir = data_dir
        self.log = log
        self.starts = 0
        self._amqp = LOOPBACK_ANY_PORT
        self._http = LOOPBACK_ANY_PORT
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        """The AMQP URL of the broker; the same after a restart."""
        return f"amqp://guest:guest@{self._amqp}/"

    @property
    def management_url(self) -> str:
        return f"http://guest:guest@{self._http}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start it, and return when it accepts connections.

        Raises :exc:`~mqkit_cli.errors.CommandError`, with its own last words, if it does not.
        """
        command = [sys.executable, "-m", "mqkit_cli", "broker", "run"]
        command += ["--listen", self._amqp, "--http", self._http, "--data-dir", str(self.data_dir)]
        with self.log.open("ab") as log:
            # A session of its own: Ctrl-C is for the demo, which ends its children in order.
            self._process = await asyncio.create_subprocess_exec(
                *command, stdout=asyncio.subprocess.PIPE, stderr=log, start_new_session=True
            )
        line = await self._first_line(self._process)
        word, *places = line.split()
        found = dict(place.partition("=")[::2] for place in places)
        if word != "ready" or not {"amqp", "http"} <= found.keys():
            raise CommandError(f"the demo's broker said {line!r} instead of that it is ready")
        self._amqp, self._http = found["amqp"], found["http"]
        self.starts += 1

    async def kill(self) -> None:
        """SIGKILL: no last write, no goodbye. Returns when the process is gone."""
        process = self._process
        if process is not None and process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL for one that does not go. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            await end_group(process, STOP_TIMEOUT_S)

    async def _first_line(self, process: asyncio.subprocess.Process) -> str:
        assert process.stdout is not None
        try:
            async with asyncio.timeout(READY_TIMEOUT_S):
                line = (await process.stdout.readline()).decode(errors="replace").strip()
        except TimeoutError:
            raise CommandError(
                f"the demo's broker was not ready within {READY_TIMEOUT_S:g} s"
            ) from None
        if line:
            return line
        words = self.log.read_text(errors="replace").strip().splitlines()
        raise CommandError(f"the demo's broker did not start: {words[-1] if words else 'no word'}")
