"""`mqkit broker run` with TLS, as a process: the ready line, clients, and what keeps it from it."""

from __future__ import annotations

import re
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pika
import pytest
from pika.credentials import ExternalCredentials

from mqkit.testing.certificates import Authority, CertificateFiles

pytestmark = pytest.mark.slow
"""Each starts processes and waits for their ends."""

STOP_S = 20
READY = re.compile(
    r"ready amqp=127\.0\.0\.1:\d+ http=127\.0\.0\.1:(\d+)"
    r" amqps=127\.0\.0\.1:(\d+) https=127\.0\.0\.1:(\d+)\n"
)
FREE = ("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--tls-listen", "127.0.0.1:0")
GUEST = ("guest", "guest")
Run = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def run(clean_environment: dict[str, str]) -> Iterator[Run]:
    processes: list[subprocess.Popen[str]] = []

    def started(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "mqkit_cli", "broker", "run", *FREE, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment,
        )
        processes.append(process)
        return process

    yield started
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def server(authority: Authority) -> CertificateFiles:
    return authority.issue("server", "localhost", "127.0.0.1")


def files(server: CertificateFiles) -> tuple[str, ...]:
    return ("--tls-cert", str(server.certificate), "--tls-key", str(server.key))


def test_a_client_logs_in_by_its_certificate(
    run: Run, authority: Authority, server: CertificateFiles
) -> None:
    process = run(
        *files(server), "--tls-ca", str(authority.path), "--tls-verify", "required",
        "--https", "127.0.0.1:0", "--auth-mechanisms", "EXTERNAL", "--cert-login-from",
        "common_name",
    )  # fmt: skip
    assert process.stdout is not None
    ready = READY.fullmatch(process.stdout.readline())
    assert ready is not None
    _, amqps, https = (int(port) for port in ready.groups())
    context = ssl.create_default_context(cafile=authority.path)
    with httpx.Client(
        base_url=f"https://localhost:{https}/api", verify=context, auth=GUEST, trust_env=False
    ) as api:
        answer = api.put("/users/ann", json={"password_hash": "", "tags": ""})
        assert answer.status_code == 201
        rights = {"configure": ".*", "write": ".*", "read": ".*"}
        assert api.put("/permissions/%2F/ann", json=rights).status_code == 201
        client = authority.issue("ann", common_name="ann")
        context.load_cert_chain(client.certificate, client.key)
        connection = pika.BlockingConnection(
            pika.ConnectionParameters(
                "localhost",
                amqps,
                credentials=ExternalCredentials(),
                ssl_options=pika.SSLOptions(context, "localhost"),
            )
        )
        connection.channel().queue_declare("q")
        [row] = api.get("/connections").json()
        assert (row["user"], row["auth_mechanism"], row["ssl"]) == ("ann", "EXTERNAL", True)
        assert row["ssl_protocol"] == "tlsv1.3"
        assert row["ssl_key_exchange"] == "any"
        assert row["peer_cert_subject"].startswith("CN=ann,")
        connection.close()
    process.terminate()
    assert process.wait(STOP_S) == 0


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda server: server.certificate.unlink(), "can't be read: No such file"),
        (lambda server: server.key.write_text("nothing"), "not a private key in PEM form"),
    ],
)
def test_files_that_can_not_be_used(
    run: Run, server: CertificateFiles, spoil: Callable[[CertificateFiles], None], said: str
) -> None:
    spoil(server)
    process = run(*files(server))
    output, errors = process.communicate(timeout=STOP_S)
    assert process.returncode == 1
    assert output == ""
    assert said in errors
    assert "Traceback" not in errors


def test_an_address_that_somebody_else_has(run: Run, server: CertificateFiles) -> None:
    first = run(*files(server), "--https", "127.0.0.1:0")
    assert first.stdout is not None
    ready = READY.fullmatch(first.stdout.readline())
    assert ready is not None
    second = run(*files(server), "--tls-listen", f"127.0.0.1:{ready[2]}")
    _, errors = second.communicate(timeout=STOP_S)
    assert second.returncode == 1
    assert f"can't listen on 127.0.0.1:{ready[2]}" in errors
    assert "--tls-listen" in errors
