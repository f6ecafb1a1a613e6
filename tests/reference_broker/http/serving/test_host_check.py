"""host_check: the names that nobody but this machine can have."""

from __future__ import annotations

import pytest

from reference_broker.http.serving.host_check import is_own_name


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "LocalHost:15672", "localhost.", "127.0.0.1:15672", "127.8.9.1", "[::1]",
        "[::1]:15672", "192.0.2.7:15672", "[2001:db8::1]:80", "mq.localhost", "Box.Example.org",
        "box:15672", "host.docker.internal:15672",
    ],
)  # fmt: skip
def test_own_names(host: str) -> None:
    assert is_own_name(host, "box.example.org")


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:15672",
        "notlocalhost", "xlocalhost:80", "2130706433", "0x7f.1", "example.org", "internal",
        "[evil.example]", ":15672", "127.0.0.1@evil.example",
    ],
)  # fmt: skip
def test_names_that_a_browser_can_be_pointed_at(host: str) -> None:
    assert not is_own_name(host, "box.example.org")
