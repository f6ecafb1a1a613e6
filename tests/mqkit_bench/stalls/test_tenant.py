"""mqkit_bench.stalls.tenant: a user with a virtual host of his own."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from mqkit_bench.contestant import Contestant
from mqkit_bench.session import Address, Session
from mqkit_bench.stalls import frames
from mqkit_bench.stalls.tenant import PASSWORD, USER, Tenant, ask_at_once, barrier, drain, write


@pytest.fixture
def tenant(contestant: Contestant) -> Iterator[Tenant]:
    with closing(Tenant(contestant, scale=0.01)) as tenant:
        yield tenant


def test_numbers_are_scaled_and_never_below_two(tenant: Tenant) -> None:
    assert [tenant.count(number) for number in (100_000, 1_000, 24)] == [1_000, 10, 2]


def test_the_user_has_rights_in_no_other_virtual_host(tenant: Tenant) -> None:
    there = tenant.contestant.address
    with pytest.raises(ConnectionError):
        Session(Address(there.host, there.port, USER, PASSWORD, "/"))
    assert tenant.ask("GET", "/api/queues/stalls").status_code == 200
    assert tenant.ask("GET", "/api/users").status_code == 401


def test_what_is_held_comes_back_with_the_end_of_its_connection(tenant: Tenant) -> None:
    session = tenant.prepare([frames.declare("q")])
    tenant.fill("q", 2_500)
    holder = tenant.hold("q", 2_500)
    assert session.ready("q") == 0
    holder.close()
    assert tenant.await_ready(session, "q", 2_500) == ""


def test_a_remark_tells_of_messages_that_never_came(tenant: Tenant) -> None:
    session = tenant.prepare([frames.declare("q")])
    assert tenant.await_ready(session, "q", 1, timeout_s=0) == "0 of 1 messages after 0 s"


def test_a_queue_that_is_gone(tenant: Tenant) -> None:
    session = tenant.prepare([frames.declare("q")])
    write(session, frames.publish("", "q"))
    session.delete("q")
    assert tenant.await_gone("q") == ""


def test_the_virtual_host_goes_with_its_tenant(contestant: Contestant) -> None:
    tenant = Tenant(contestant)
    barrier(tenant.session())
    address = tenant.address
    tenant.close()
    with pytest.raises(ConnectionError):
        Session(address)


def test_octets_are_found_across_reads() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"xxab")
        theirs.sendall(b"cabc" + b"tail")
        drain(ours, b"abc", 2)
        theirs.close()
        with pytest.raises(ConnectionError, match="closed after 0 of 1"):
            drain(ours, b"abc", 1)


def test_questions_are_asked_while_answers_are_read(tenant: Tenant) -> None:
    from mqkit import wire
    from mqkit.wire import methods

    session = tenant.prepare([frames.declare("q")])
    question = wire.method_frame(1, methods.BasicGet(queue="q"))
    empty = wire.method_frame(1, methods.BasicGetEmpty())
    assert ask_at_once(session, question, empty, 1_000) == ""
