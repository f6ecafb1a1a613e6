"""Endpoints and credentials: one clear line for each that can't be, and no password in any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.etcd.config import Endpoint, EtcdConfig, endpoint

HERE = Endpoint("127.0.0.1", 2379)
SAFE = Endpoint("etcd.example", 2379, tls=True)
FILE = Path("file.pem")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("http://127.0.0.1:2379", HERE),
        ("https://etcd.example:2379/", SAFE),
        ("http://[::1]:2379", Endpoint("::1", 2379)),
    ],
)
def test_an_endpoint_is_a_url(text: str, found: Endpoint) -> None:
    assert endpoint(text) == found
    assert endpoint(found.url) == found
    assert str(found) == found.url


@pytest.mark.parametrize(
    "text",
    ["", "127.0.0.1:2379", "http://h", "ftp://h:1", "http://h:0", "http://h:99999", "http://h:1/x",
     "http://h:1?x=1", "http://:5", "http://[::1"],
)  # fmt: skip
def test_an_endpoint_that_is_none_is_told_of_in_one_line(text: str) -> None:
    with pytest.raises(BadConfiguration, match=r"is no endpoint; write it as http://HOST:PORT"):
        endpoint(text)


def test_a_password_in_an_endpoint_is_not_repeated() -> None:
    with pytest.raises(BadConfiguration, match="no user and no password") as raised:
        endpoint("http://root:geheim@h:2379")
    assert "geheim" not in str(raised.value)


def test_a_password_is_not_shown() -> None:
    config = EtcdConfig((HERE,), user="u", password="geheim")
    assert "geheim" not in repr(config)
    assert "geheim" not in str(config)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"endpoints": ()}, "name 1 to 16 endpoints"),
        ({"endpoints": (HERE,) * 17}, "name 1 to 16 endpoints"),
        ({"endpoints": (HERE, SAFE)}, "all endpoints with https://, or none"),
        ({"user": "u"}, "a user and a password go together"),
        ({"password": "p"}, "a user and a password go together"),
        ({"endpoints": (SAFE,), "certificate": FILE}, "certificate and its key go together"),
        ({"authority": FILE}, "file.pem is of no use without https://"),
        ({"certificate": FILE, "key": FILE}, "file.pem is of no use without https://"),
    ],
)
def test_parts_that_do_not_go_together(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(BadConfiguration, match=words):
        EtcdConfig(**{"endpoints": (HERE,), **arguments})
