"""The options of a broker's command line, over what its configuration file says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.runtime.net.proxy_sources import ProxyProtocol, ProxySources
from reference_broker.runtime.tls.config import LoginFrom, TlsConfig, Verify
from reference_broker.service.options import TABLE, BrokerOptions, configuration

FILES = BrokerOptions(tls_cert=Path("server.pem"), tls_key=Path("server.key"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A configuration file with TLS."""
    found = tmp_path / "broker.yaml"
    found.write_text(
        "listen: 127.0.0.1:1\ndata_dir: data\nlimits: {message_size_max: 7}\n"
        "tls: {certificate: a.pem, key: a.key, listen: 127.0.0.1:5671}\n"
    )
    return found


def test_no_option_changes_nothing() -> None:
    assert configuration(BrokerOptions()) == ServerConfig()


def test_every_option_makes_its_part() -> None:
    made = configuration(
        replace(
            FILES,
            listen="127.0.0.1:1",
            http="127.0.0.1:2",
            prometheus="127.0.0.1:3",
            data_dir="data",
            disk_free_limit="1kB",
            message_size_max="2kiB",
            tls_listen="[::]:5671",
            https="127.0.0.1:4",
            tls_ca=Path("authority.pem"),
            tls_verify=Verify.REQUIRED,
            cert_login_from=LoginFrom.COMMON_NAME,
            auth_mechanisms="external, PLAIN",
            proxy_protocol=ProxyProtocol.V2,
            proxy_from="10.0.0.0/8, ::1",
        )
    )
    assert made.tls == TlsConfig(
        Path("server.pem"),
        Path("server.key"),
        Path("authority.pem"),
        Address("::", 5671),
        Address("127.0.0.1", 4),
        verify=Verify.REQUIRED,
        login_from=LoginFrom.COMMON_NAME,
    )
    assert made.mechanisms == {"EXTERNAL", "PLAIN"}
    assert made.proxies == ProxySources.parse(["10.0.0.0/8", "::1"])
    assert made.amqp == Address("127.0.0.1", 1)
    assert made.http == Address("127.0.0.1", 2)
    assert made.prometheus == Address("127.0.0.1", 3)
    assert made.data_dir == Path("data")
    assert (made.limits.disk_free_limit_bytes, made.limits.message_size_max) == (1000, 2048)


def test_options_win_over_the_file(file: Path) -> None:
    said = configuration(BrokerOptions(config=file))
    assert said.data_dir == file.parent / "data"
    made = configuration(
        BrokerOptions(config=file, listen="127.0.0.1:2", https="127.0.0.1:15671", data_dir="other")
    )
    assert made == replace(
        said,
        amqp=Address("127.0.0.1", 2),
        data_dir=Path("other"),
        tls=replace(said.tls, https=Address("127.0.0.1", 15671)),  # type: ignore[type-var]
    )


def test_proxies_of_the_file_are_enough_of_a_protocol(tmp_path: Path) -> None:
    file = tmp_path / "broker.yaml"
    file.write_text("proxy_protocol: v2\nproxy_from: [10.0.0.0/8]\n")
    for options in (BrokerOptions(), BrokerOptions(proxy_protocol=ProxyProtocol.V2)):
        made = configuration(replace(options, config=file))
        assert made.proxies == ProxySources.parse(["10.0.0.0/8"])
    made = configuration(BrokerOptions(config=file, proxy_from="fd00::/8"))
    assert made.proxies == ProxySources.parse(["fd00::/8"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (BrokerOptions(tls_listen="127.0.0.1:0"), "--tls-cert FILE and --tls-key FILE"),
        (FILES, "add --tls-listen HOST:PORT or --https HOST:PORT"),
        (BrokerOptions(auth_mechanisms="EXTERNAL"), "needs AMQP over TLS that verifies clients"),
        (BrokerOptions(data_dir=""), "--data-dir is empty"),
        (BrokerOptions(listen="nowhere"), "HOST:PORT"),
        (BrokerOptions(proxy_protocol=ProxyProtocol.V2), "add --proxy-from CIDR,..."),
        (BrokerOptions(proxy_from="10.0.0.0/8"), "add --proxy-protocol v2"),
        (
            BrokerOptions(proxy_protocol=ProxyProtocol.V2, proxy_from="10.0.0.0/8,"),
            "'' is not a network",
        ),
        (BrokerOptions(message_size_max="129MiB"), "the largest that can be allowed is 128 MiB"),
        (BrokerOptions(config=Path("/")), "can't be read: Is a directory"),
    ],
    ids=str,
)
def test_what_can_not_be_used_is_said(options: BrokerOptions, said: str) -> None:
    with pytest.raises(BadConfiguration, match=said):
        configuration(options)


def test_the_table_is_of_the_fields() -> None:
    shown: dict[str, Any] = {option.name: option for option in TABLE}
    assert shown["tls_cert"].flag == "--tls-cert"
    assert (shown["tls_cert"].kind, shown["tls_cert"].choices) == (Path, None)
    assert (shown["tls_verify"].kind, shown["tls_verify"].metavar) == (Verify, None)
    assert shown["tls_verify"].choices == ["none", "peer", "required"]
    assert (shown["listen"].kind, shown["listen"].metavar) == (str, "HOST:PORT")
    for option in TABLE:
        assert option.help
        assert (option.metavar is None) is (option.choices is not None)
