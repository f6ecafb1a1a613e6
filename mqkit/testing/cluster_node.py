"""One node of a private cluster: a broker's process with a data folder and ports of its own, that
can be stopped and killed, and started again with what it had."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mqkit.testing.servers.free_ports import HOST
from mqkit.testing.servers.server_process import ServerProcess, end_of

PROGRAM = ("-m", "reference_broker")
"""The arguments by which Python starts a broker, before its options."""


class ClusterNode(ServerProcess):
    """The node ``name`` in a folder of its own. ``ports`` are for AMQP, the management API and
    links; ``options`` are all those of its ``mqkit broker run``."""

    def __init__(
        self,
        name: str,
        folder: Path,
        ports: tuple[int, int, int],
        cluster_options: Sequence[str],
        program: Sequence[str] = PROGRAM,
    ) -> None:
        super().__init__()
        self.name = name
        self.data_dir = folder / "data"
        self.amqp_port, self.management_port, self.link_port = ports
        self._folder = folder
        self._program = tuple(program)
        self.options = (
            *("--node-name", name, "--data-dir", str(self.data_dir)),
            *("--listen", f"{HOST}:{self.amqp_port}", "--http", f"{HOST}:{self.management_port}"),
            *("--cluster-listen", f"{HOST}:{self.link_port}", *cluster_options),
        )
        self._is_asked = False

    def __repr__(self) -> str:
        return f"<ClusterNode {self.name!r} {self.url}>"

    @property
    def url(self) -> str:
        """Its AMQP URL, for guest in the default virtual host."""
        return f"amqp://guest:guest@{HOST}:{self.amqp_port}/"

    @property
    def management_url(self) -> str:
        """The URL of its management API, for guest."""
        return f"http://guest:guest@{HOST}:{self.management_port}"

    def start(self, *more: str) -> None:
        """Start the process; ``more`` are options that win over its own. It serves clients when
        :attr:`ready_line` says so."""
        self._folder.mkdir(exist_ok=True)
        self._is_asked = False
        # Not a pipe, which somebody would have to read.
        with open(self._said, "wb") as said, open(self._errors, "ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, *self._program, *self.options, *more],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=errors,
                start_new_session=True,
            )

    @property
    def ready_line(self) -> str:
        """The line that says that it serves clients; empty until then."""
        line = self._said.read_text() if self._said.exists() else ""
        return line.strip() if line.endswith("\n") else ""

    @property
    def pid(self) -> int:
        """The process's number. Raises :exc:`RuntimeError` where there is none."""
        if self._process is None:
            raise RuntimeError(f"the node {self.name!r} is not running: start it")
        return self._process.pid

    def ask_to_stop(self) -> None:
        """Have it end by itself, and don't wait; a second time would be a kill, so there is none
        until it is started again."""
        if not self._is_asked:
            self._is_asked = True
            super().ask_to_stop()

    def wait(self, timeout_s: float) -> int:
        """Wait for it to end by itself, and return the exit code. Raises
        :exc:`subprocess.TimeoutExpired`."""
        assert self._process is not None
        return self._process.wait(timeout_s)

    def errors(self) -> str:
        """All that it has written to stderr, in all of its runs."""
        return self._errors.read_text(errors="replace") if self._errors.exists() else ""

    def tail(self) -> str:
        """The end of that."""
        return end_of(self.errors())

    @property
    def _said(self) -> Path:
        return self._folder / "stdout.txt"

    @property
    def _errors(self) -> Path:
        return self._folder / "stderr.txt"
