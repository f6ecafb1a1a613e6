"""mqkit_bench.broker.entrant: brokers that run already, and which process they are."""

from __future__ import annotations

import os
import resource
import socket

import pytest
import typer

from mqkit_bench.broker import catalogue
from mqkit_bench.broker.entrant import (
    RELAY,
    Entrant,
    allow_many_connections,
    contestant_at,
    listener,
)


def test_a_running_broker_by_its_url(reference: Entrant) -> None:
    assert reference.contestant is not None
    address = reference.contestant.address
    wish = f"other=amqp://guest:guest@{address.host}:{address.port}/,http://127.0.0.1:1/"
    found = contestant_at(wish)
    assert (found.name, found.address, found.management_url) == (
        "other",
        address,
        "http://127.0.0.1:1",
    )
    assert found.pid == reference.contestant.pid
    assert found.cpu_s() > 0


def test_the_process_behind_a_port_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert listener(port) == os.getpid()
    assert listener(port) == 0


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ("lavin", "starts with amqp"),
        ("lavin=http://127.0.0.1", "starts with amqp"),
        ("lavin=amqps://127.0.0.1", "only amqp://"),
        ("lavin=amqp://127.0.0.1/other", "only amqp://"),
    ],
)
def test_what_it_can_not_speak_to_is_said(wish: str, why: str) -> None:
    with pytest.raises(typer.BadParameter, match=why):
        contestant_at(wish)


def test_a_relay_plays_plain_scenarios_only(reference: Entrant) -> None:
    plain, fan_out = catalogue.persistent(10), catalogue.fan_out(10)
    assert (RELAY.plays(plain), RELAY.plays(fan_out)) == (True, False)
    assert (reference.plays(plain), reference.plays(fan_out)) == (True, True)
    assert RELAY.syncs() is None
    assert (reference.syncs() or 0) >= 0


def test_descriptors_are_raised_to_what_the_system_allows() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, before[1]), before[1]))
        allow_many_connections()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
