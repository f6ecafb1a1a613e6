"""`mqkit cluster dev`: a cluster in one terminal, of which nothing is left."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.slow
"""It starts processes and waits for their ends."""

END_S = 30


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "mqkit_cli", "cluster", "dev", *words]


def _free_neighbours() -> int:
    """A free port whose next one is free as well."""
    while True:
        with ExitStack() as stack:
            first = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            port: int = first.getsockname()[1]
            try:
                stack.enter_context(socket.create_server(("127.0.0.1", port + 1)))
            except OSError:
                continue
            return port


@pytest.mark.live
@pytest.mark.skipif(shutil.which("etcd") is None, reason="there is no etcd here")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_of_it(
    clean_environment: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    amqp, http = _free_neighbours(), _free_neighbours()
    words = ["--nodes", "2", "--port", str(amqp), "--management-port", str(http)]
    with subprocess.Popen(
        _command(*words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment | {"TMPDIR": str(tmp_path)},
    ) as process:
        assert process.stdout is not None
        for place, name in enumerate("ab"):
            said = process.stdout.readline()
            address = f"amqp=127.0.0.1:{amqp + place} http=127.0.0.1:{http + place}"
            assert (
                said
                == f"{name}  ready {address} cluster=dev node=mqkit@{name} members={place + 1}\n"
            )
        for place in range(2):
            url = f"http://127.0.0.1:{http + place}/api/overview"
            assert httpx.get(url, auth=("guest", "guest")).status_code == 200
        process.send_signal(number)
        rest, errors = process.communicate(timeout=END_S)
    assert (process.returncode, rest) == (0, "")
    assert errors == "mqkit: Ctrl-C ends all of them, and what they have is gone\n"
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{http}/api/overview")


def test_without_etcd_it_says_what_to_install(clean_environment: dict[str, str]) -> None:
    done = subprocess.run(
        _command(),
        capture_output=True,
        text=True,
        env=clean_environment | {"PATH": ""},
        timeout=END_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("mqkit: there is no etcd on this machine")
    assert "apt install etcd-server" in done.stderr
