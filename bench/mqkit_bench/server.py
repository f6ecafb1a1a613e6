"""Servers: the contestants' processes, which can be stopped, killed and started again.

A restart is on the same data. Its clock runs from the moment before the process is made.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import httpx

from mqkit.testing.rabbitmq import START_TIMEOUT_S
from mqkit.testing.rabbitmq_node import NodeFailed, NodeTls, server_script, start_node
from mqkit_bench.contestant import Contestant
from mqkit_bench.session import Address, Session

REFERENCE_BROKER = "mqkit reference broker"
STOP_TIMEOUT_S = 60.0
"""A clean stop that takes longer is none; and then it would be killed."""
RESTART_TIMEOUT_S = 600.0
CONNECT_INTERVAL_S = 0.02


class Server(Protocol):
    """A contestant's process. It runs when it is handed out."""

    @property
    def contestant(self) -> Contestant:
        """The contestant that runs now; another one after a restart."""

    def stop(self) -> None:
        """SIGTERM, and wait for the end. Raises :exc:`RuntimeError` if it doesn't come."""

    def kill(self) -> None:
        """``kill -9``, and wait."""

    def start(self) -> None:
        """Again, on the same data, after :meth:`stop` or :meth:`kill`: until it can be used."""


class ReferenceServer:
    """``mqkit broker run`` on free ports, with its data in ``folder``; with ``tls`` it speaks that
    as well. Call :meth:`end`."""

    def __init__(self, folder: Path, tls: NodeTls | None = None) -> None:
        self._folder = folder
        self._tls_options: tuple[str, ...] = ()
        if tls is not None:
            self._tls_options = (
                *("--tls-listen", "127.0.0.1:0", "--tls-ca", str(tls.authority)),
                *("--tls-cert", str(tls.certificate), "--tls-key", str(tls.key)),
            )
        self.start()

    @property
    def contestant(self) -> Contestant:
        return self._contestant

    def start(self) -> None:
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "mqkit_cli", "broker", "run"),
                *("--data-dir", str(self._folder)),
                *("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"),
                *self._tls_options,
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert self._process.stdout is not None
            ready = self._process.stdout.readline().split()
            if not ready or ready[0] != "ready":
                raise RuntimeError("the reference broker did not start; its error is above")
        except BaseException:
            self.end()
            raise
        places = dict(part.split("=", 1) for part in ready[1:])
        host, _, port = places["amqp"].rpartition(":")
        self._contestant = Contestant(
            REFERENCE_BROKER,
            Address(host, int(port)),
            f"http://{places['http']}",
            self._process.pid,
            int(places["amqps"].rpartition(":")[2]) if "amqps" in places else None,
        )

    def stop(self) -> None:
        end_cleanly(self._process)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """End the process, whatever state it is in. Idempotent."""
        end_somehow(self._process)
        if self._process.stdout is not None:
            self._process.stdout.close()


class RabbitMQServer:
    """A private RabbitMQ node. Its VM is started again with its own command line and environment,
    as the kernel has them, so a restart is faster by what the shell script around it takes."""

    def __init__(self, contestant: Contestant) -> None:
        self.contestant = contestant
        self._address = contestant.address
        process = Path(f"/proc/{contestant.pid}")
        self._executable = os.readlink(process / "exe")
        self._command = _strings(process / "cmdline")
        self._environment = dict(text.split("=", 1) for text in _strings(process / "environ"))
        self._folder = os.readlink(process / "cwd")
        status = process.stat()
        self._user, self._group = status.st_uid, status.st_gid
        self._again: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._again = subprocess.Popen(
            self._command,
            executable=self._executable,
            env=self._environment,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            **self._identity(),
        )
        self.contestant = replace(self.contestant, pid=self._again.pid)
        deadline = time.monotonic() + RESTART_TIMEOUT_S
        while not self._accepts():
            if self._again.poll() is not None:
                raise RuntimeError(f"RabbitMQ ended with {self._again.returncode} at its restart")
            if time.monotonic() > deadline:
                raise RuntimeError(f"RabbitMQ was not up after {RESTART_TIMEOUT_S:.0f} s")
            time.sleep(CONNECT_INTERVAL_S)

    def stop(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def end(self) -> None:
        """The VM that was started again, if any; the node's own context ends the rest."""
        if self._again is not None:
            end_somehow(self._again)

    def _signal(self, number: signal.Signals) -> None:
        descriptor = os.pidfd_open(self.contestant.pid)
        try:
            signal.pidfd_send_signal(descriptor, number)
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            if not poll.poll(1000 * STOP_TIMEOUT_S):
                raise RuntimeError(f"RabbitMQ was there {STOP_TIMEOUT_S:.0f} s after {number.name}")
        finally:
            os.close(descriptor)

    def _identity(self) -> dict[str, Any]:
        """The arguments that name the user to run as; only root has to."""
        if os.geteuid() != 0:
            return {}
        return {"user": self._user, "group": self._group, "extra_groups": []}

    def _accepts(self) -> bool:
        try:
            Session(self._address).close()
        except (ConnectionError, TimeoutError):
            return False
        return True


@contextmanager
def reference_server(folder: Path, tls: NodeTls | None = None) -> Iterator[ReferenceServer]:
    """``mqkit broker run`` for the time of the block, with its data in ``folder``."""
    server = ReferenceServer(folder, tls)
    try:
        yield server
    finally:
        server.end()


@contextmanager
def rabbitmq_server(tls: NodeTls | None = None) -> Iterator[RabbitMQServer]:
    """A private RabbitMQ of this machine, with its data in the folder for temporary files.

    Raises :exc:`~mqkit.testing.rabbitmq_node.NodeFailed` when there is none to start.
    """
    script = server_script(os.environ)
    if script is None:
        raise NodeFailed("there is no rabbitmq-server on this machine")
    with start_node(script, timeout_s=START_TIMEOUT_S, tls=tls) as node:
        if node.beam_pid is None:
            raise NodeFailed("its Erlang VM was not found, so its CPU can't be measured")
        management_url = f"http://127.0.0.1:{node.management_port}"
        info = httpx.get(
            f"{management_url}/api/overview", auth=("guest", "guest"), trust_env=False, timeout=10
        )
        name = f"RabbitMQ {info.json()['rabbitmq_version']}"
        address = Address("127.0.0.1", node.amqp_port)
        contestant = Contestant(name, address, management_url, node.beam_pid, node.amqps_port)
        server = RabbitMQServer(contestant)
        try:
            yield server
        finally:
            server.end()


def end_cleanly(process: subprocess.Popen[Any]) -> None:
    """SIGTERM and wait. Raises :exc:`RuntimeError` when it doesn't end, or not with 0."""
    process.terminate()
    try:
        code = process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"a broker was there {STOP_TIMEOUT_S:.0f} s after SIGTERM") from None
    if code:
        raise RuntimeError(f"a broker ended with {code} after SIGTERM")


def end_somehow(process: subprocess.Popen[Any]) -> None:
    """SIGTERM, and SIGKILL for one that doesn't end of it."""
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _strings(file: Path) -> list[str]:
    """A file of /proc that holds strings with a zero octet after each."""
    return file.read_text().split("\0")[:-1]
