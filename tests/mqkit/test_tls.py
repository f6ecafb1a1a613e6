"""TLS as a client sets it up, and both adapters and the management API against a broker with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mqkit.declaration import Queue
from mqkit.errors import ConfigurationError, MqkitError
from mqkit.message import Message
from mqkit.outcome import Confirmed
from mqkit.settings import Settings
from mqkit.testing.certificates import Authority, CertificateFiles
from mqkit.tls import TlsOptions, check_tls
from mqkit.topology import take_snapshot
from mqkit.transport.blocking import BlockingTransport
from mqkit.transport.native import NativeTransport
from mqkit.transport.native.over_sockets.transport import NativeBlockingTransport
from mqkit.transport.over_aio_pika.adapter import AioPikaTransport
from mqkit.transport.over_pika.adapter import PikaTransport
from mqkit.transport.seam import Endpoint, Transport
from mqkit.url import parse
from reference_broker.runtime.config import Address, ServerConfig, UserConfig
from reference_broker.runtime.server import Server
from reference_broker.runtime.tls.config import LoginFrom, TlsConfig, Verify

FREE = Address("127.0.0.1", 0)
WAIT_S = 20


def test_a_url_says_what_tls_needs() -> None:
    endpoint = parse(
        "amqps://mq1/?cacertfile=/a%20b/ca.pem&certfile=c.pem&keyfile=c.key"
        "&server_name_indication=mq&verify=verify_none&auth_mechanism=external&heartbeat=10"
    )
    options = TlsOptions("/a b/ca.pem", "c.pem", "c.key", "mq", verify=False)
    assert endpoint.tls_options == options
    assert endpoint.external
    assert parse(f"amqps://mq1/?{options.query()}").tls_options == options
    assert parse("amqps://mq1/").tls_options == TlsOptions()
    assert TlsOptions().query() == ""


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("amqps://h/?verify=maybe", "verify_peer or verify_none"),
        ("amqps://h/?keyfile=a.key", "no certfile"),
        ("amqps://h/?cacertfile=", "cacertfile in the URL is empty"),
        ("amqps://h/?server_name_indication=", "server_name_indication in the URL is empty"),
        ("amqps://h/?server_name_indication=a..b", "can't be the name of a host: 'a..b'"),
        ("amqps://h/?server_name_indication=.b", "can't be the name of a host"),
        ("amqps://h/?server_name_indication=a%20b", "can't be the name of a host"),
        (f"amqps://h/?server_name_indication={'x' * 64}.b", "can't be the name of a host"),
        ("amqp://u:p@h/?cacertfile=ca.pem", "the one without TLS"),
        ("amqps://h/?auth_mechanism=scram", "plain or external"),
        ("amqp://h/?auth_mechanism=external", "it needs amqps://"),
    ],
)
def test_what_a_url_can_not_say(url: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        parse(url)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (TlsOptions(cacertfile="/nowhere/ca.pem"), "cacertfile /nowhere/ca.pem can't be used: No"),
        (TlsOptions(certfile="/nowhere/a.pem"), "certfile /nowhere/a.pem with keyfile"),
    ],
)
def test_files_that_can_not_be_used(options: TlsOptions, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        options.context()


def test_settings_are_for_urls_that_say_nothing() -> None:
    settings = Settings.load(
        urls="amqps://a/,amqps://b/?cacertfile=b.pem,amqps://c/?verify=verify_peer",
        tls_cacertfile="a.pem",
        tls_verify=False,
    )
    assert [each.tls_options for each in settings.endpoints] == [
        TlsOptions("a.pem", verify=False),
        TlsOptions("b.pem"),
        TlsOptions(),
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tls_keyfile": "a.key"}, "tls_keyfile is given, and no tls_certfile"),
        ({"tls_cacertfile": ""}, "tls_cacertfile is empty"),
        ({"tls_server_name": "a..b"}, "tls_server_name can't be the name of a host: 'a..b'"),
    ],
)
def test_settings_that_can_not_be_meant(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Settings.load(urls="amqps://a/", **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"tls_cacertfile": "ca.pem"},
        {"tls_certfile": "a.pem"},
        {"tls_server_name": "mq"},
        {"tls_verify": False},
    ],
)
@pytest.mark.parametrize("others", ["", "amqps://b/,"])
def test_settings_that_a_url_has_no_use_for(settings: dict[str, Any], others: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Settings.load(urls=f"{others}amqp://u:secret@a/", **settings)
    said = str(refused.value)
    assert f"{next(iter(settings))} is set, and amqp://u:***@a/ does not speak TLS" in said
    assert Settings.load(urls="amqp://a/", tls_verify=True).endpoints


@pytest.mark.parametrize("name", ["mq", "mq_1", "mq.example.", "127.0.0.1", "::1", "münchen.de"])
def test_names_that_a_server_may_have(name: str) -> None:
    check_tls(TlsOptions(server_name=name), str)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def ann(authority: Authority) -> CertificateFiles:
    return authority.issue("ann", common_name="ann")


@pytest.fixture(scope="module")
def server(authority: Authority) -> Iterator[Server]:
    """In a loop and a thread of its own. Its certificate is for ``localhost`` only."""
    files = authority.issue("server", "localhost")
    tls = TlsConfig(
        files.certificate, files.key, authority.path, FREE, FREE, Verify.PEER,
        login_from=LoginFrom.COMMON_NAME,
    )  # fmt: skip
    users = (UserConfig("guest", "guest", ("administrator",)), UserConfig("ann", "unused"))
    mechanisms = frozenset({"PLAIN", "EXTERNAL"})
    server = Server(ServerConfig(FREE, None, users=users, tls=tls, mechanisms=mechanisms))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def run(step: Callable[[], Coroutine[Any, Any, None]]) -> None:
        asyncio.run_coroutine_threadsafe(step(), loop).result(WAIT_S)

    run(server.start)
    yield server
    run(server.stop)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(WAIT_S)
    loop.close()


@pytest.fixture
def endpoint(server: Server, authority: Authority) -> Endpoint:
    assert server.tls is not None
    options = TlsOptions(str(authority.path))
    return replace(parse(f"amqps://localhost:{server.tls.amqp_port}/"), tls_options=options)


def declared_blocking(transport: BlockingTransport, endpoint: Endpoint) -> None:
    connection = transport.connect(endpoint, name="test", timeout_s=WAIT_S)
    try:
        channel = connection.channel(confirms=True)
        channel.declare_queue(Queue("q"))
        large = Message("", "q", bytes(3_000_000))  # many TLS records, and more than a buffer
        assert [future.result(WAIT_S) for future in channel.publish_many([large])] == [Confirmed()]
        assert channel.get("q", no_ack=True) is not None
    finally:
        connection.close()


def declared_with_pika(endpoint: Endpoint) -> None:
    declared_blocking(PikaTransport(), endpoint)


def declared_with_native_blocking(endpoint: Endpoint) -> None:
    declared_blocking(NativeBlockingTransport(), endpoint)


async def declared_by(transport: Transport, endpoint: Endpoint) -> None:
    connection = await transport.connect(endpoint, name="test", timeout_s=WAIT_S)
    try:
        await (await connection.channel()).declare_queue(Queue("q"))
    finally:
        await connection.close()


def declared_with_aio_pika(endpoint: Endpoint) -> None:
    asyncio.run(declared_by(AioPikaTransport(), endpoint))


def declared_with_native(endpoint: Endpoint) -> None:
    asyncio.run(declared_by(NativeTransport(), endpoint))


@pytest.fixture(
    params=[
        declared_with_pika,
        declared_with_aio_pika,
        declared_with_native,
        declared_with_native_blocking,
    ]
)
def declared(request: pytest.FixtureRequest) -> Callable[[Endpoint], None]:
    """Connects, and declares a queue."""
    made: Callable[[Endpoint], None] = request.param
    return made


def test_with_a_password(declared: Callable[[Endpoint], None], endpoint: Endpoint) -> None:
    declared(endpoint)


def test_with_a_certificate(
    declared: Callable[[Endpoint], None],
    endpoint: Endpoint,
    authority: Authority,
    ann: CertificateFiles,
) -> None:
    options = TlsOptions(str(authority.path), str(ann.certificate), str(ann.key))
    declared(replace(endpoint, tls_options=options, external=True))


def test_another_name_than_the_host(
    declared: Callable[[Endpoint], None], endpoint: Endpoint, authority: Authority
) -> None:
    elsewhere = replace(endpoint, host="127.0.0.1")
    with pytest.raises(MqkitError):
        declared(elsewhere)
    options = TlsOptions(str(authority.path), server_name="localhost")
    declared(replace(elsewhere, tls_options=options))


def test_a_server_that_nobody_vouches_for(
    declared: Callable[[Endpoint], None], endpoint: Endpoint, tmp_path: Path
) -> None:
    stranger = str(Authority(tmp_path).path)
    with pytest.raises(MqkitError):
        declared(replace(endpoint, tls_options=TlsOptions(stranger)))
    declared(replace(endpoint, tls_options=TlsOptions(stranger, verify=False)))


@pytest.mark.parametrize(
    ("host", "more"), [("localhost", ""), ("127.0.0.1", "&server_name_indication=localhost")]
)
def test_the_management_api(server: Server, authority: Authority, host: str, more: str) -> None:
    assert server.tls is not None
    url = f"https://{host}:{server.tls.https_port}?cacertfile={authority.path}{more}"
    assert asyncio.run(take_snapshot(url, "/")).vhost == "/"
