"""``python -m mqkit.testing``: the command, and what is left when the two are ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqkit.testing import __main__ as program
from mqkit.testing.rabbitmq_node import server_script

PROGRAM = [sys.executable, "-m", "mqkit.testing", "--"]
SAY_AND_WAIT = "import os, signal; print(os.getpid(), flush=True); signal.pause()"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that the user rabbitmq can reach, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="mqkit-test-") as name:
        place = Path(name)
        place.chmod(0o755)
        yield place


def start(folder: Path, **environment: str) -> subprocess.Popen[str]:
    """The program with a command that says its process id; temporary folders are in ``folder``."""
    return subprocess.Popen(
        [*PROGRAM, sys.executable, "-c", SAY_AND_WAIT],
        env={**os.environ, "TMPDIR": str(folder), **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> int:
    """SIGTERM once the command runs; the exit code. The command must be gone with it."""
    assert process.stdout is not None
    with process.stdout as output:
        command = int(output.readline())
        process.terminate()
        code = process.wait(90)
    with pytest.raises(ProcessLookupError):
        os.kill(command, 0)
    return code


def test_the_exit_code_is_the_command_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQKIT_TEST_RABBITMQ_URL", "amqp://somewhere/")
    assert program.main(["--", sys.executable, "-c", "raise SystemExit(7)"]) == 7
    assert program.main([sys.executable, "-c", "raise SystemExit(7)", "--", "-x"]) == 7


@pytest.mark.parametrize(
    "arguments", [[], ["--statistics-every", "0", "--", "true"], ["--statistics-every", "true"]]
)
def test_no_command_and_no_seconds_are_the_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main(arguments)
    assert ended.value.code == 2
    assert "usage: python -m mqkit.testing" in capsys.readouterr().err


def test_sigterm_ends_the_command(tmp_path: Path) -> None:
    process = start(tmp_path, MQKIT_TEST_RABBITMQ_URL="amqp://somewhere/")
    assert end(process) == 128 + signal.SIGTERM


@pytest.mark.slow
@pytest.mark.rabbitmq
@pytest.mark.skipif(server_script(os.environ) is None, reason="there is no rabbitmq-server here")
def test_sigterm_ends_the_node_and_removes_its_folder(open_folder: Path) -> None:
    process = start(open_folder, MQKIT_TEST_RABBITMQ_URL="")
    assert end(process) == 128 + signal.SIGTERM
    assert list(open_folder.iterdir()) == []
    assert [c for c in commands_running() if str(open_folder) in c] == []


def commands_running() -> list[str]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(place.read_text(errors="replace"))
        except OSError:  # it has ended meanwhile
            continue
    return found
