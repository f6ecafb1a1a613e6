"""One member of a private etcd: a process that can be stopped, killed and paused, and started again
with what it had."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mqkit.testing.servers.free_ports import HOST
from mqkit.testing.servers.server_process import ServerProcess, end_of

ANSWER_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class EtcdTls:
    """The PEM files of members that speak TLS with their clients. With an ``authority`` they verify
    the clients' certificates, and take none without one."""

    certificate: Path
    key: Path
    authority: Path | None = None


class EtcdMember(ServerProcess):
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
        super().__init__()
        self.name = name
        self.port, peer_port = ports
        self.url = f"{'https' if tls else 'http'}://{HOST}:{self.port}"
        self.peer_url = f"http://{HOST}:{peer_port}"
        self._program = program
        self._folder = folder
        self._tls = tls
        self._options = options

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

    def tail(self) -> str:
        """The end of its output."""
        return end_of((self._folder / "output.txt").read_text(errors="replace"))

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
