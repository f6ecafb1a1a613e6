"""The process of a private server: signalled, stopped, killed, and started again."""

from __future__ import annotations

import signal
import subprocess

STOP_TIMEOUT_S = 20.0
"""A server that has not gone this long after SIGTERM is killed."""

LOG_TAIL_CHARACTERS = 600
"""Characters of a failed server's output that go into an error."""


class ServerProcess:
    """A server whose process is ``_process``, while there is one. Who derives from it starts it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def has_ended(self) -> bool:
        """True if there is no process, or none any more."""
        return self._process is None or self._process.poll() is not None

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self._process is not None and not self.has_ended():
            self._process.send_signal(number)

    def ask_to_stop(self) -> None:
        """Have it end by itself, a paused one, too, and don't wait."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it as its operator would. Idempotent."""
        self.ask_to_stop()
        self._reap()

    def kill(self) -> None:
        """End it as a crash does. Idempotent."""
        self.signal(signal.SIGKILL)
        self._reap()

    def _reap(self) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def end_of(output: str) -> str:
    """The end of what a server has written, for an error."""
    return output.strip()[-LOG_TAIL_CHARACTERS:] or "it printed nothing"
