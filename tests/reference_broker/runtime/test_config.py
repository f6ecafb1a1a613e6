"""The configuration of a server: addresses are read, secrets are not shown."""

from __future__ import annotations

import pytest

from reference_broker.core.base.limits import MESSAGE_SIZE_MAX, Limits
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.config import Address, ServerConfig, UserConfig, parse_size


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:5672", ("127.0.0.1", 5672)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:5672", ("::1", 5672)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert Address.parse(text) == address
    assert str(Address.parse(text)) == text


@pytest.mark.parametrize("text", ["", "5672", ":5672", "host:", "host:port", "host:-1", "h:65536"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(BadConfiguration, match=r"HOST:PORT|at most 65535"):
        Address.parse(text)


def test_no_repr_shows_a_password() -> None:
    config = ServerConfig(users=(UserConfig("ann", "CANARY"),))
    assert "CANARY" not in repr(config)
    assert "ann" in repr(config)


def test_the_default_user_is_for_this_machine_only() -> None:
    [guest] = ServerConfig().users
    assert (guest.name, guest.loopback_only) == ("guest", True)


def test_a_message_is_never_larger_than_the_hard_bound() -> None:
    assert ServerConfig().limits.message_size_max == 16 << 20
    ServerConfig(limits=Limits(message_size_max=MESSAGE_SIZE_MAX))
    with pytest.raises(BadConfiguration, match=r"134217729 bytes.*128 MiB \(134217728 bytes\)"):
        ServerConfig(limits=Limits(message_size_max=MESSAGE_SIZE_MAX + 1))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("50000000", 50_000_000),
        ("50MB", 50_000_000),
        ("50M", 50 << 20),
        ("50MiB", 50 << 20),
        ("7KB", 7_000),
        ("7kiB", 7 << 10),
        ("2GB", 2_000_000_000),
        ("1TiB", 1 << 40),
    ],
)
def test_sizes_have_rabbitmqs_units(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "-1", "MB", "1.5GB", "50 MB", "50mb", "1e6", "²"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(BadConfiguration, match="not a number of bytes"):
        parse_size(text)
