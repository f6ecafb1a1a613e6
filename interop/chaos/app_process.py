"""The app under test as a process: started, told to end, and waited for."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from interop.chaos.facts import STDERR

READY_WITHIN_S = 90.0
END_WITHIN_S = 60.0
"""The app's own times for draining, twice over. One that has not ended then is killed."""


class AppFailed(Exception):
    """The app did not start; its stderr says why."""


class AppProcess:
    """Call :meth:`start`, :meth:`end`, :meth:`exit` in this order."""

    def __init__(self, url: str, transport: str, folder: Path, seed: int) -> None:
        self._command = [
            *(sys.executable, "-W", "always::ResourceWarning", "-m", "interop.chaos.application"),
            *("--url", url, "--transport", transport),
            *("--folder", str(folder), "--seed", str(seed)),
        ]
        self._stderr = folder / STDERR
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Return when it works. Raises :exc:`AppFailed`."""
        with self._stderr.open("wb") as stderr:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
            )
        if not await self._says(b"ready\n", READY_WITHIN_S):
            await self.exit()
            raise AppFailed(f"the app did not start: see {self._stderr}")

    @property
    def runs(self) -> bool:
        """False once it has gone, for whatever reason."""
        return self._process is not None and self._process.returncode is None

    async def end(self) -> bool:
        """Have it end its app, and return when that has ended; the process is there until
        :meth:`exit`. False where it did not come to that in time."""
        self._tell(b"end\n")
        return await self._says(b"ended\n", END_WITHIN_S)

    async def exit(self) -> int:
        """Let it go, or kill it; returns its exit code."""
        assert self._process is not None
        self._tell(b"exit\n")
        try:
            async with asyncio.timeout(END_WITHIN_S):
                return await self._process.wait()
        except TimeoutError:
            return await self.kill()

    async def kill(self) -> int:
        """Kill it, if it is there; returns its exit code."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.kill()
        return await self._process.wait()

    def _tell(self, line: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        if self._process.returncode is None:
            self._process.stdin.write(line)

    async def _says(self, line: bytes, within_s: float) -> bool:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(within_s):
                return await self._process.stdout.readline() == line
        except TimeoutError:
            return False
