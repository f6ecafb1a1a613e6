"""Addresses of listening sockets, as options and files write them."""

from __future__ import annotations

import pytest

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.net.address import Address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:5672", Address("127.0.0.1", 5672)),
        ("localhost:0", Address("localhost", 0)),
        ("[::1]:65535", Address("::1", 65_535)),
    ],
)
def test_an_address_is_read_and_written_alike(text: str, address: Address) -> None:
    assert Address.parse(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text", ["", "5672", "localhost", "localhost:", ":5672", "localhost:amqp", "localhost:\u0665"]
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadConfiguration, match=r"such as 127\.0\.0\.1:5672"):
        Address.parse(text)


def test_a_port_that_no_socket_has_is_refused() -> None:
    with pytest.raises(BadConfiguration):
        Address.parse("localhost:65536")
