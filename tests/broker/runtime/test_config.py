"""What a server is started with: addresses are read, secrets are not shown."""

from __future__ import annotations

import pytest

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.config import Address, ServerConfig, UserConfig


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
