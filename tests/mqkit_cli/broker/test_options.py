"""The options of `mqkit broker run` for TLS, over what the configuration file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mqkit_cli.broker.options import with_tls
from mqkit_cli.errors import CommandError
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.runtime.tls.config import LoginFrom, TlsConfig, Verify

NOTHING: dict[str, Any] = {
    "listen": None,
    "https": None,
    "certificate": None,
    "key": None,
    "authority": None,
    "verify": None,
    "login_from": None,
    "mechanisms": None,
}
FILES: dict[str, Any] = {"certificate": Path("server.pem"), "key": Path("server.key")}
IN_FILE = TlsConfig(Path("a.pem"), Path("a.key"), amqp=Address("127.0.0.1", 5671))


def test_no_option_changes_nothing() -> None:
    assert with_tls(ServerConfig(), **NOTHING) == ServerConfig()
    settings = ServerConfig(tls=IN_FILE)
    assert with_tls(settings, **NOTHING) == settings


def test_options_make_the_whole() -> None:
    made = with_tls(
        ServerConfig(),
        **{
            **NOTHING,
            **FILES,
            "listen": "[::]:5671",
            "authority": Path("authority.pem"),
            "verify": Verify.REQUIRED,
            "login_from": LoginFrom.COMMON_NAME,
            "mechanisms": "external, PLAIN",
        },
    )
    assert made.tls == TlsConfig(
        Path("server.pem"),
        Path("server.key"),
        Path("authority.pem"),
        Address("::", 5671),
        verify=Verify.REQUIRED,
        login_from=LoginFrom.COMMON_NAME,
    )
    assert made.mechanisms == {"EXTERNAL", "PLAIN"}


def test_options_win_over_the_file() -> None:
    made = with_tls(ServerConfig(tls=IN_FILE), **{**NOTHING, "https": "127.0.0.1:15671"})
    assert made.tls is not None
    assert (made.tls.certificate, made.tls.amqp) == (Path("a.pem"), Address("127.0.0.1", 5671))
    assert made.tls.https == Address("127.0.0.1", 15671)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"listen": "127.0.0.1:0"}, "--tls-cert FILE and --tls-key FILE"),
        (FILES, "add --tls-listen HOST:PORT or --https HOST:PORT"),
    ],
)
def test_options_that_need_others(options: dict[str, Any], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        with_tls(ServerConfig(), **{**NOTHING, **options})


def test_external_needs_clients_that_are_verified() -> None:
    with pytest.raises(BadConfiguration, match="needs AMQP over TLS that verifies clients"):
        with_tls(ServerConfig(), **{**NOTHING, "mechanisms": "EXTERNAL"})
