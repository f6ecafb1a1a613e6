"""One member of a private etcd: a process that can be stopped, killed and paused, and started again
with what it had."""

from __future__ import annotations

import http.client
import json
import os
import signal
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
STOP_TIMEOUT_S = 20.0
"""A member that has not gone this long after SIGTERM is killed."""
ANSWER_TIMEOUT_S = 2.0
LOG_TAIL_CHARACTERS = 600
"""Characters of a failed member's output that go into the error."""


@dataclass(frozen=True, slots=True)
class EtcdTls:
    """The PEM files of members that speak TLS with their clients. With an ``authority`` they verify
    the clients' certificates, and take none without one."""

    certificate: Path
    key: Path
    authority: Path | None = None


class EtcdMember:
    """A member in a folder of its own, on two ports of 127.0.0.1."""

    def __init__(
        self,
        program: str,
        name: str,
        folder: Path,
        ports: tuple[int, int],
        tls: EtcdTls | None,
        options: tuple[str, ...],
    ) -> None:
        self.name = name
        self.port, peer_port = ports
        self.url = f"{'https' if tls else 'http'}://{HOST}:{self.port}"
        self.peer_url = f"http://{HOST}:{peer_port}"
        self._program = program
        self._folder = folder
        self._tls = tls
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, cluster: str) -> None:
        """Start the process; ``cluster`` names all members. It is up when :meth:`is_up` says so."""
        self._folder.mkdir(exist_ok=True)
        with open(self._folder / "output.txt", "ab") as output:
            self._process = subprocess.Popen(
                [
                    *(self._program, "--name", self.name, "--data-dir", str(self._folder / "data")),
                    *("--listen-client-urls", self.url, "--advertise-client-urls", self.url),
                    *("--listen-peer-urls", self.peer_url),
                    *("--initial-advertise-peer-urls", self.peer_url),
                    *("--initial-cluster", cluster, "--log-level", "error"),
                    *self._tls_options(),
                    *self._options,
                ],
                cwd=self._folder,
                env={"PATH": os.environ.get("PATH", "")},  # it takes options from ETCD_*
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def is_up(self) -> bool:
        """True if it answers, and knows a leader."""
        answer = self._answer("GET", "/health")
        return answer is not None and answer.get("health") == "true"

    def is_leader(self) -> bool:
        """True if it says that it leads the others."""
        answer = self._answer("POST", "/v3/maintenance/status")
        return answer is not None and answer.get("leader") == answer["header"]["member_id"]

    def has_ended(self) -> bool:
        """True if there is no process, or none any more."""
        return self._process is None or self._process.poll() is not None

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self._process is not None and not self.has_ended():
            self._process.send_signal(number)

    def stop(self) -> None:
        """End it as its operator would, a paused one, too. Idempotent."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)
        self._reap()

    def kill(self) -> None:
        """End it as a crash does. Idempotent."""
        self.signal(signal.SIGKILL)
        self._reap()

    def tail(self) -> str:
        """The end of its output."""
        text = (self._folder / "output.txt").read_text(errors="replace").strip()
        return text[-LOG_TAIL_CHARACTERS:] or "it printed nothing"

    def _reap(self) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _tls_options(self) -> list[str]:
        if self._tls is None:
            return []
        options = ["--cert-file", str(self._tls.certificate), "--key-file", str(self._tls.key)]
        if self._tls.authority is not None:
            options += ["--trusted-ca-file", str(self._tls.authority), "--client-cert-auth"]
        return options

    def _answer(self, method: str, path: str) -> dict[str, Any] | None:
        connection = self._connection()
        try:
            connection.request(method, path, b"{}" if method == "POST" else None)
            answer = connection.getresponse()
            decoded: dict[str, Any] = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()
        return decoded if answer.status == 200 else None

    def _connection(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(HOST, self.port, timeout=ANSWER_TIMEOUT_S)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # the port is ours
        context.load_cert_chain(self._tls.certificate, self._tls.key)
        return http.client.HTTPSConnection(
            HOST, self.port, timeout=ANSWER_TIMEOUT_S, context=context
        )
