"""Free ports: as many as asked, each another one, and each to be had."""

from __future__ import annotations

import socket

from mqkit.testing.servers.free_ports import HOST, free_ports


def test_they_are_distinct_and_free() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    for port in ports:
        with socket.socket() as mine:
            mine.bind((HOST, port))
