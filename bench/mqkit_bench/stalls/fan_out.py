"""Actions in which one message goes to many queues, or many messages arrive at once."""

from __future__ import annotations

from mqkit.wire import methods
from mqkit_bench.session import Session
from mqkit_bench.stalls import frames
from mqkit_bench.stalls.action import Play
from mqkit_bench.stalls.tenant import PLAY_TIMEOUT_S, Tenant, write

EXCHANGE = "fan"
LARGE_BYTES = 16_000_000


def thousand_queues(tenant: Tenant) -> Play:
    return _fan_out(tenant, tenant.count(1_000), tenant.count(3_000))


def hundred_queues(tenant: Tenant) -> Play:
    return _fan_out(tenant, tenant.count(100), tenant.count(20_000))


def one_publish(tenant: Tenant) -> Play:
    return _fan_out(tenant, tenant.count(50_000), 1)


def _fan_out(tenant: Tenant, queues: int, messages: int) -> Play:
    session = _fan(tenant, queues)
    octets = messages * frames.publish(EXCHANGE, "")
    return lambda: _publish(tenant, session, octets, queues, messages)


def _publish(tenant: Tenant, session: Session, octets: bytes, queues: int, messages: int) -> str:
    """Send it all in one write, and wait until the last queue has all messages."""
    write(session, octets)
    return tenant.await_ready(session, frames.fan_queue(queues - 1), messages)


def large_bodies(tenant: Tenant) -> Play:
    queues = tenant.count(50)
    session = _fan(tenant, queues, durable=True)
    body = bytes(tenant.count(LARGE_BYTES))
    octets = frames.publish(EXCHANGE, "", body, persistent=True)
    return lambda: _publish(tenant, session, octets, queues, 1)


def carbon_copies(tenant: Tenant) -> Play:
    """Publishes whose CC header names as many queues as the reference broker routes to."""
    queues = [f"cc.{number}" for number in range(tenant.count(1_000))]
    session = tenant.prepare(map(frames.declare, queues))
    octets = tenant.count(500) * frames.publish("", queues[0], headers={"CC": queues[1:]})
    return lambda: write(session, octets)


def commit_to_fan_out(tenant: Tenant) -> Play:
    session = _fan(tenant, tenant.count(1_000))
    octets = tenant.count(1_000) * frames.publish(EXCHANGE, "")
    return _commit(session, octets)


def commit(tenant: Tenant) -> Play:
    session = tenant.prepare([frames.declare("committed", durable=True)])
    octets = tenant.count(100_000) * frames.publish("", "committed", persistent=True)
    return _commit(session, octets)


def _commit(session: Session, octets: bytes) -> Play:
    """All is published in the preparation; only the commit is played."""
    session.call(1, methods.TxSelect(), methods.TxSelectOk)
    write(session, octets)

    def play() -> str:
        session.socket.settimeout(PLAY_TIMEOUT_S)
        session.call(1, methods.TxCommit(), methods.TxCommitOk)
        return ""

    return play


def _fan(tenant: Tenant, queues: int, *, durable: bool = False) -> Session:
    exchange = frames.declare_exchange(EXCHANGE, "fanout")
    return tenant.prepare([exchange, *frames.fan(queues, EXCHANGE, durable=durable)])
