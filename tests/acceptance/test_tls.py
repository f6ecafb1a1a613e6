"""Clients over TLS: a certificate that they trust, and their own to log in by, on both brokers.

The two brokers are started here, with certificates that are made here.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

import aio_pika
import httpx
import pika
import pytest
from pika.credentials import ExternalCredentials

from interop.elsewhere.cluster import CLIENTS, queues_elsewhere
from mqkit.testing.certificates import Authority, CertificateFiles
from mqkit.testing.rabbitmq_node import NodeFailed, NodeTls, server_script, start_node

FREE = "127.0.0.1:0"
START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 15
WAIT_S = 10
ANN = "CN=ann,OU=Ops,O=Acme"
REFUSALS = (pika.exceptions.AMQPError, aio_pika.exceptions.AMQPError)


@dataclass(frozen=True, slots=True)
class TlsBroker:
    port: int
    authority: Authority
    stranger: Authority
    """Whom the broker does not know."""

    def context(self, shown: CertificateFiles | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.authority.path)
        if shown is not None:
            context.load_cert_chain(shown.certificate, shown.key)
        return context


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(
    scope="module", params=["reference", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)]
)
def broker(
    request: pytest.FixtureRequest, authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TlsBroker]:
    files = authority.issue("server", "localhost", "127.0.0.1")
    on_cluster = request.config.getoption("--on-cluster")
    ours = _two_nodes if on_cluster else _reference
    start = ours if request.param == "reference" else _rabbitmq
    for port, management_url in start(authority, files):
        with httpx.Client(base_url=management_url, auth=("guest", "guest"), trust_env=False) as api:
            name = quote(ANN, safe="")
            api.put(f"/api/users/{name}", json={"password_hash": "", "tags": ""})
            everything = {"configure": ".*", "write": ".*", "read": ".*"}
            granted = api.put(f"/api/permissions/%2F/{name}", json=everything)
            assert granted.status_code == 201
        stranger = Authority(tmp_path_factory.mktemp("stranger"), "stranger")
        yield TlsBroker(port, authority, stranger)


def _options(authority: Authority, files: CertificateFiles) -> list[str]:
    return [
        *("--tls-listen", FREE, "--tls-cert", str(files.certificate), "--tls-key", str(files.key)),
        *("--tls-ca", str(authority.path), "--tls-verify", "peer"),
        *("--auth-mechanisms", "PLAIN,AMQPLAIN,EXTERNAL"),
    ]


def _two_nodes(authority: Authority, files: CertificateFiles) -> Iterator[tuple[int, str]]:
    """Clients are at one, and queues at the other."""
    with queues_elsewhere(_options(authority, files)) as cluster:
        node = cluster[CLIENTS]
        places = dict(part.split("=", 1) for part in node.ready_line.split()[1:])
        yield int(places["amqps"].rpartition(":")[2]), f"http://{places['http']}"


def _reference(authority: Authority, files: CertificateFiles) -> Iterator[tuple[int, str]]:
    command = [sys.executable, "-m", "mqkit_cli", "broker", "run"]
    command += ["--listen", FREE, "--http", FREE, *_options(authority, files)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        places = dict(part.split("=", 1) for part in process.stdout.readline().split()[1:])
        yield int(places["amqps"].rpartition(":")[2]), f"http://{places['http']}"
    finally:
        process.terminate()
        process.wait(STOP_TIMEOUT_S)


def _rabbitmq(authority: Authority, files: CertificateFiles) -> Iterator[tuple[int, str]]:
    script = server_script(os.environ)
    if script is None:
        pytest.skip("there is no rabbitmq-server on this machine")
    tls = NodeTls(files.certificate, files.key, authority.path)
    try:
        with start_node(script, timeout_s=START_TIMEOUT_S, tls=tls) as node:
            assert node.amqps_port is not None
            yield node.amqps_port, f"http://127.0.0.1:{node.management_port}"
    except NodeFailed as why:
        pytest.skip(str(why))


def with_pika(broker: TlsBroker, context: ssl.SSLContext, *, external: bool) -> bytes | None:
    """Send a message through a queue that the login may declare, and return the body that comes
    back."""
    parameters = pika.ConnectionParameters(
        "localhost", broker.port, ssl_options=pika.SSLOptions(context, "localhost")
    )
    if external:
        parameters.credentials = ExternalCredentials()
    with pika.BlockingConnection(parameters) as connection:
        channel = connection.channel()
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.confirm_delivery()
        channel.basic_publish("", queue, b"over TLS")
        body: bytes | None = channel.basic_get(queue, auto_ack=True)[2]
        return body


def with_aio_pika(broker: TlsBroker, context: ssl.SSLContext, *, external: bool) -> bytes | None:
    async def echoed() -> bytes | None:
        how = "?auth=external" if external else ""
        url = f"amqps://guest:guest@localhost:{broker.port}/{how}"
        connection = await aio_pika.connect(url, ssl_context=context)
        async with connection:
            channel = await connection.channel()
            queue = await channel.declare_queue(exclusive=True)
            await channel.default_exchange.publish(aio_pika.Message(b"over TLS"), queue.name)
            message = await queue.get(no_ack=True, fail=False)
            return None if message is None else message.body

    return asyncio.run(asyncio.wait_for(echoed(), WAIT_S))


Echo = Callable[..., bytes | None]
ECHOES = pytest.mark.parametrize("echo", [with_pika, with_aio_pika], ids=["pika", "aio-pika"])


@ECHOES
def test_a_client_that_trusts_the_authority(broker: TlsBroker, echo: Echo) -> None:
    assert echo(broker, broker.context(), external=False) == b"over TLS"


@ECHOES
def test_a_certificate_is_the_login(broker: TlsBroker, echo: Echo) -> None:
    files = broker.authority.issue("ann", common_name="ann", organization="Acme", unit="Ops")
    assert echo(broker, broker.context(files), external=True) == b"over TLS"


@ECHOES
def test_a_certificate_of_nobody(broker: TlsBroker, echo: Echo) -> None:
    files = broker.authority.issue("nobody", common_name="nobody")
    with pytest.raises(REFUSALS, match="Login was refused using authentication mechanism EXTERNAL"):
        echo(broker, broker.context(files), external=True)


@ECHOES
def test_no_certificate_to_log_in_by(broker: TlsBroker, echo: Echo) -> None:
    """RabbitMQ offers EXTERNAL and refuses the login; the reference broker does not offer it."""
    with pytest.raises(REFUSALS):
        echo(broker, broker.context(), external=True)


@ECHOES
def test_a_certificate_of_another_authority(broker: TlsBroker, echo: Echo) -> None:
    files = broker.stranger.issue("ann", common_name="ann", organization="Acme", unit="Ops")
    with pytest.raises((OSError, *REFUSALS)):
        echo(broker, broker.context(files), external=True)


@ECHOES
def test_a_client_that_does_not_trust_the_authority(broker: TlsBroker, echo: Echo) -> None:
    with pytest.raises((OSError, *REFUSALS)):
        echo(broker, ssl.create_default_context(cafile=broker.stranger.path), external=False)
