"""The address of probes: what is taken, and the lines about what is not."""

from __future__ import annotations

import pytest

from mqkit.errors import ConfigurationError
from mqkit.health.address import Address, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8080", Address("127.0.0.1", 8080)),
        ("0.0.0.0:1", Address("0.0.0.0", 1)),
        ("localhost:0", Address("localhost", 0)),
        ("[::1]:65535", Address("::1", 65535)),
        ("[::]:80", Address("::", 80)),
    ],
)
def test_it_is_a_host_and_a_port(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (":8080", "does not say who may connect: 127.0.0.1:8080 is this machine alone"),
        ("8080", "expected a host and a port"),
        ("127.0.0.1", "expected a host and a port"),
        ("127.0.0.1:", "expected a host and a port"),
        ("127.0.0.1:http", "expected a host and a port"),
        ("127.0.0.1:65536", "expected a host and a port"),
        ("127.0.0.1:-1", "expected a host and a port"),
        ("::1:8080", "in brackets"),
        ("", "expected a host and a port"),
    ],
)
def test_anything_else_is_refused_in_one_line(text: str, line: str) -> None:
    with pytest.raises(ConfigurationError, match=line) as refused:
        parse_address(text)
    assert "\n" not in str(refused.value)
