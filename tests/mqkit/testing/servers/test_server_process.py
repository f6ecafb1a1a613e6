"""A server's process: how it is asked, stopped and killed."""

from __future__ import annotations

import signal
import subprocess
import sys

from mqkit.testing.servers.server_process import LOG_TAIL_CHARACTERS, ServerProcess, end_of

_WAITS = "import sys; print('up', flush=True); sys.stdin.read()"


class _Server(ServerProcess):
    def start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", _WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        self._process = process
        return process


def test_without_a_process_there_is_nothing_to_end() -> None:
    server = _Server()
    assert server.has_ended()
    server.signal(signal.SIGTERM)
    server.stop()
    server.kill()


def test_a_paused_one_stops_too() -> None:
    server = _Server()
    with server.start() as process:
        server.signal(signal.SIGSTOP)
        assert not server.has_ended()
        server.stop()
        assert process.returncode == -signal.SIGTERM
    assert server.has_ended()


def test_a_kill_asks_nobody() -> None:
    server = _Server()
    with server.start() as process:
        server.kill()
        assert process.returncode == -signal.SIGKILL


def test_the_end_of_its_output_is_short() -> None:
    assert end_of("\n") == "it printed nothing"
    assert end_of("x" * 2 * LOG_TAIL_CHARACTERS + "\n") == "x" * LOG_TAIL_CHARACTERS
