"""Certificates that run out soon, over HTTPS itself; and what the overview says of sockets."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from mqkit.testing.certificates import Authority
from reference_broker.http.objects.certificate_expiry import horizon
from reference_broker.http.request.answer import ApiError
from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.runtime.server import Server
from reference_broker.runtime.tls.config import TlsConfig

pytestmark = pytest.mark.anyio
FREE = Address("127.0.0.1", 0)
LOGIN = ("guest", "guest")
DAY_0 = datetime.fromtimestamp(0, UTC)


@pytest.fixture
async def tls_server(anyio_backend: str, tmp_path: Path) -> AsyncIterator[tuple[Server, Authority]]:
    authority = Authority(tmp_path)
    files = authority.issue("server", "localhost", lifetime=timedelta(days=10))
    tls = TlsConfig(files.certificate, files.key, authority.path, FREE, FREE)
    server = Server(ServerConfig(FREE, None, tls=tls))
    await server.start()
    yield server, authority
    await server.stop()


@pytest.fixture
async def https(tls_server: tuple[Server, Authority]) -> AsyncIterator[httpx.AsyncClient]:
    server, authority = tls_server
    assert server.tls is not None
    url = f"https://localhost:{server.tls.https_port}/api/"
    context = ssl.create_default_context(cafile=authority.path)
    async with httpx.AsyncClient(
        base_url=url, verify=context, auth=LOGIN, trust_env=False
    ) as client:
        yield client


async def test_it_lasts_long_enough(https: httpx.AsyncClient) -> None:
    answer = await https.get("health/checks/certificate-expiration/1/weeks")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_it_runs_out(
    https: httpx.AsyncClient, tls_server: tuple[Server, Authority], tmp_path: Path
) -> None:
    answer = await https.get("health/checks/certificate-expiration/2/weeks")
    assert answer.status_code == 503
    body = answer.json()
    assert (body["status"], body["reason"]) == ("failed", "Certificates expiring")
    amqp, web = body["expired"]
    assert (amqp["protocol"], web["protocol"]) == ("amqp/ssl", "https")
    assert amqp["certfile"] == str(tmp_path / "server.pem")
    expected = datetime.now(UTC) + timedelta(days=10)
    shown = datetime.strptime(amqp["certfile_expires_on"][0], "%Y-%m-%d %H:%M:%S")
    assert abs(shown.replace(tzinfo=UTC) - expected) < timedelta(minutes=10)


async def test_sockets_with_tls_are_listed(
    https: httpx.AsyncClient, tls_server: tuple[Server, Authority]
) -> None:
    server, _ = tls_server
    assert server.tls is not None
    overview = (await https.get("overview")).json()
    by_protocol = {each["protocol"]: each for each in overview["listeners"]}
    assert by_protocol["amqp/ssl"]["port"] == server.tls.amqp_port
    options = by_protocol["amqp/ssl"]["socket_opts"]
    assert (options["verify"], options["fail_if_no_peer_cert"]) == ("verify_none", False)
    assert options["versions"] == ["tlsv1.3", "tlsv1.2"]
    [context] = overview["contexts"]
    assert context["port"] == str(server.tls.https_port)
    for name in ("amqps", "amqp/ssl".replace("/", "%2F"), "https"):
        check = await https.get(f"health/checks/protocol-listener/{name}")
        assert check.status_code == 200
    check = await https.get(f"health/checks/port-listener/{server.tls.amqp_port}")
    assert check.status_code == 200


@pytest.mark.parametrize(
    ("within", "unit", "days"),
    [("3", "days", 3.0), ("2", "weeks", 14.0), ("12", "months", 365.0), ("1", "years", 365.0),
     ("-1", "days", -1.0)],
)  # fmt: skip
async def test_units(within: str, unit: str, days: float) -> None:
    assert horizon(within, unit, 0) == DAY_0 + timedelta(days=days)


@pytest.mark.parametrize("within", ["", "x", "1.5", "--1", "9" * 9, "9" * 5_000, "\u0663"])
async def test_what_is_no_number_of_them(within: str) -> None:
    with pytest.raises(ApiError, match="Invalid expiration value"):
        horizon(within, "years", 0)
