"""Free ports: as many as asked, each another one, each to be had, and none that the kernel gives to
a connection."""

from __future__ import annotations

import socket

import pytest

from mqkit.testing.servers.free_ports import EPHEMERAL, FIRST, HOST, free_ports


def test_they_are_distinct_and_free() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    for port in ports:
        with socket.socket() as mine:
            mine.bind((HOST, port))


def test_one_that_is_taken_is_not_chosen() -> None:
    ports = free_ports(100)
    with socket.create_server((HOST, ports[0])):
        assert ports[0] not in free_ports(1_000)


@pytest.mark.skipif(not EPHEMERAL.exists(), reason="the kernel says nothing of its own ports")
def test_none_is_of_those_for_outgoing_connections() -> None:
    first = int(EPHEMERAL.read_text().split()[0])
    assert all(FIRST <= port < first for port in free_ports(1_000))
