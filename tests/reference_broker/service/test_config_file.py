"""The broker's configuration file."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.config import Address, ServerConfig, UserConfig
from reference_broker.runtime.tls.config import LoginFrom, TlsConfig, TlsVersion, Verify
from reference_broker.service.config_file import load_config


def written(folder: Path, text: str) -> Path:
    file = folder / "broker.yaml"
    file.write_text(text)
    return file


def test_everything(tmp_path: Path) -> None:
    config = load_config(
        written(
            tmp_path,
            """
listen: "[::1]:5000"
http: 127.0.0.1:0
prometheus: 127.0.0.1:15692
data_dir: data
users:
  app: {password: "1234", tags: [management], loopback_only: true}
  other: {password: secret}
limits: {channel_max: 7, message_size_max: 134217728}
""",
        )
    )
    assert config.amqp == Address("::1", 5000)
    assert config.http == Address("127.0.0.1", 0)
    assert config.prometheus == Address("127.0.0.1", 15692)
    assert config.data_dir == tmp_path / "data"
    assert config.users == (
        UserConfig("app", "1234", ("management",), loopback_only=True),
        UserConfig("other", "secret"),
    )
    assert config.limits.channel_max == 7
    assert config.limits.message_size_max == 128 << 20
    assert config.limits.frame_max == ServerConfig().limits.frame_max


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_an_empty_file_is_the_defaults(tmp_path: Path, text: str) -> None:
    assert load_config(written(tmp_path, text)) == ServerConfig()


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("listen: nowhere", 1, "HOST:PORT"),
        ("\nhttp: 127.0.0.1:99999", 2, "65535"),
        ("lisen: 127.0.0.1:1", 1, "did you mean 'listen'?"),
        ("data_dir: 5", 1, "text"),
        ("users:\n  app: {}", 2, "expected the password"),
        ("users:\n  app: {password: ''}", 2, "expected the password"),
        ("users: {}", 1, "nobody could log in"),
        ("users:\n  app: {password: x, tags: [1]}", 2, "a tag"),
        ("users:\n  app: {password: x, tag: []}", 2, "did you mean 'tags'?"),
        ("limits:\n  channel_max: -1", 2, "a whole number"),
        ("limits:\n  message_size_max: 134217729", 2, "a whole number from 0 to 134217728"),
        ("limits:\n  chanel_max: 1", 2, "did you mean 'channel_max'?"),
        ("proxy_protocol: v2", 1, "proxy_from: [CIDR, ...], or neither"),
        ("proxy_from: [10.0.0.0/8]", 1, "expected proxy_protocol: v2 and"),
        ("proxy_protocol: v1\nproxy_from: [10.0.0.0/8]", 1, "'v1' is not known here"),
        ("proxy_protocol: v2\nproxy_from: 10.0.0.0/8", 2, "networks, like [10.0.0.0/8]"),
        ("proxy_protocol: v2\nproxy_from: [a, {}]", 2, "a network, like 10.0.0.0/8"),
        ("proxy_protocol: v2\nproxy_from: [10.0.0.1/8]", 2, "10.0.0.0/8 is"),
        ("proxy_protocol: v2\nproxy_from: []", 2, "no network"),
        ("a: [", 1, "not YAML"),
        ("- a", 1, "a mapping"),
    ],
)
def test_a_fault_has_its_file_and_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(BadConfiguration) as refused:
        load_config(file)
    message = str(refused.value)
    assert message.startswith(f"{file}:{line}: ")
    assert said in message


def test_every_fault_is_reported(tmp_path: Path) -> None:
    file = written(tmp_path, "listen: x\nhttp: y\nzzz: 1\n")
    with pytest.raises(BadConfiguration) as refused:
        load_config(file)
    assert len(str(refused.value).splitlines()) == 3


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    file = written(tmp_path, "users:\n  app: {password: 987654}\n")
    with pytest.raises(BadConfiguration) as refused:
        load_config(file)
    assert "987654" not in str(refused.value)
    config = load_config(written(tmp_path, "users:\n  app: {password: geheim}\n"))
    assert "geheim" not in repr(config)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match="can't be read: No such file"):
        load_config(tmp_path / "nothing.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"listen: \xff\n")
    with pytest.raises(BadConfiguration, match="not UTF-8"):
        load_config(tmp_path / "latin.yaml")


TLS = """
tls:
  listen: 0.0.0.0:5671
  https: 127.0.0.1:15671
  certificate: server.pem
  key: /etc/server.key
  key_password: open sesame
  authority: authority.pem
  verify: required
  https_verify: peer
  min_version: tlsv1.3
  login_from: common_name
auth_mechanisms: [plain, EXTERNAL]
"""


def test_tls(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, TLS))
    assert config.tls == TlsConfig(
        tmp_path / "server.pem",
        Path("/etc/server.key"),
        tmp_path / "authority.pem",
        Address("0.0.0.0", 5671),
        Address("127.0.0.1", 15671),
        Verify.REQUIRED,
        Verify.PEER,
        TlsVersion.TLS_1_3,
        LoginFrom.COMMON_NAME,
        "open sesame",
    )
    assert config.mechanisms == {"PLAIN", "EXTERNAL"}


@pytest.mark.parametrize(
    ("before", "after", "line", "said"),
    [
        ("required", "always", 9, "'always' is not known here"),
        ("server.pem", "", 6, "text"),
        ("  key: /etc/server.key\n", "", 2, "expected certificate and key"),
        ("0.0.0.0:5671", "nowhere", 3, "HOST:PORT"),
        ("open sesame", "5", 7, "quote it if it is a number"),
        ("verify: required", "verify: none", 13, "needs AMQP over TLS that verifies clients"),
        ("[plain, EXTERNAL]", "[SCRAM]", 13, "'SCRAM' is not one (known: AMQPLAIN, PLAIN"),
        ("[plain, EXTERNAL]", "[]", 13, "there has to be one"),
        ("[plain, EXTERNAL]", "PLAIN", 13, "a list of names"),
    ],
)
def test_faults_in_tls(tmp_path: Path, before: str, after: str, line: int, said: str) -> None:
    with pytest.raises(BadConfiguration) as refused:
        load_config(written(tmp_path, TLS.replace(before, after, 1)))
    assert f":{line}:" in str(refused.value)
    assert said in str(refused.value)
