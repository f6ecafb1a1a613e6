"""Actions that make dead letters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mqkit_bench.session import Session
from mqkit_bench.stalls import frames
from mqkit_bench.stalls.action import Play
from mqkit_bench.stalls.tenant import BATCH, PLAY_LEAD_S, Tenant, answer, barrier, write

FORK_LEVELS = 24
FORK_S = 5.0
"""The fork does not end in anybody's lifetime: others wait beside it for so long."""
EXPIRY_LEAD_S = 20.0
"""200,000 messages are published before the first of them expires."""


def fork(tenant: Tenant) -> Play:
    session = tenant.prepare(fork_topology(tenant.count(FORK_LEVELS)))
    message = frames.publish(fork_exchange(0), "")

    def play() -> str:
        session.socket.sendall(message)
        time.sleep(tenant.seconds(FORK_S))
        return ""

    return play


def fork_topology(levels: int, *, durable: bool = False) -> Iterator[bytes]:
    """Each of a level's two queues keeps nothing, and dead-letters to both of the next level."""
    for level in range(levels):
        exchange = fork_exchange(level)
        yield frames.declare_exchange(exchange, "fanout", durable=durable)
        arguments = {"x-max-length": 0, "x-dead-letter-exchange": fork_exchange(level + 1)}
        for queue in fork_queues(level):
            yield frames.declare(queue, arguments, durable=durable)
            yield frames.bind(queue, exchange)


def fork_exchange(level: int) -> str:
    return f"fork.{level}"


def fork_queues(level: int) -> tuple[str, str]:
    return f"fork.{level}.a", f"fork.{level}.b"


def chain_of_ttl(tenant: Tenant) -> Play:
    return _chain(tenant, {"x-message-ttl": 0}, tenant.count(1_000), 1)


def chain_of_limits(tenant: Tenant) -> Play:
    return _chain(tenant, {"x-max-length": 0}, tenant.count(500), 20)


def _chain(tenant: Tenant, arguments: Mapping[str, Any], queues: int, messages: int) -> Play:
    names = [f"chain.{number}" for number in range(queues)]
    declared = [
        frames.declare(
            queue,
            {**arguments, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": following},
        )
        for queue, following in zip(names, [*names[1:], "chain.end"], strict=True)
    ]
    session = tenant.prepare([frames.declare("chain.end"), *declared])
    message = messages * frames.publish("", names[0])

    def play() -> str:
        session.socket.sendall(message)
        return tenant.await_ready(session, "chain.end", messages)

    return play


def cycle(tenant: Tenant) -> Play:
    """Brokers end a cycle in which nobody has rejected: each message goes round once."""
    pair = {
        "cycle.a": frames.declare("cycle.a", frames.dead_to("cycle.b", {"x-max-length": 0})),
        "cycle.b": frames.declare("cycle.b", frames.dead_to("cycle.a", {"x-max-length": 0})),
    }
    session = tenant.prepare(pair.values())
    octets = tenant.count(3_000) * frames.publish("", "cycle.a")
    return lambda: write(session, octets)


def nack_to_fan_out(tenant: Tenant) -> Play:
    queues = tenant.count(1_000)
    tenant.prepare(
        [
            frames.declare_exchange("dead", "fanout"),
            *frames.fan(queues, "dead"),
            frames.declare("held", {"x-dead-letter-exchange": "dead"}),
        ]
    )
    return _nack(tenant, tenant.count(2_000), frames.fan_queue(queues - 1))


def nack_to_queue(tenant: Tenant) -> Play:
    tenant.prepare([frames.declare("dead"), frames.declare("held", frames.dead_to("dead"))])
    return _nack(tenant, tenant.count(65_000), "dead")


def requeue(tenant: Tenant) -> Play:
    tenant.prepare([frames.declare("held")])
    return _nack(tenant, tenant.count(65_000), "held")


def _nack(tenant: Tenant, messages: int, last: str) -> Play:
    """The play ends when the queue ``last`` has all messages; they go back where it is their own,
    and with the consumer gone they stay there."""
    tenant.fill("held", messages)
    holder = tenant.hold("held", messages)
    octets = frames.cancel("c") + frames.nack_all(requeue=last == "held")

    def play() -> str:
        write(holder, octets)
        return tenant.await_ready(holder, last, messages)

    return play


def expire(tenant: Tenant) -> Play:
    """All messages are due at one moment, soon after the play begins."""
    session = tenant.prepare(
        [frames.declare("due"), frames.declare("early", frames.dead_to("due"))]
    )
    return _due_at_once(
        tenant, session, lambda left_ms: frames.publish("", "early", expiration=str(left_ms))
    )


def delayed(tenant: Tenant) -> Play:
    """The same with messages that an exchange holds back."""
    exchange = frames.declare_exchange("held", "x-delayed-message", {"x-delayed-type": "direct"})
    session = tenant.prepare([frames.declare("due"), exchange, frames.bind("due", "held", "due")])
    return _due_at_once(
        tenant, session, lambda left_ms: frames.publish("held", "due", headers={"x-delay": left_ms})
    )


def _due_at_once(tenant: Tenant, session: Session, make: Callable[[int], bytes]) -> Play:
    """``make`` is given the milliseconds that are left. All messages end in the queue ``due``."""
    messages = tenant.count(200_000)
    due = time.monotonic() + 0.5 + EXPIRY_LEAD_S * tenant.scale + tenant.seconds(PLAY_LEAD_S)
    sent = 0
    while sent < messages:
        batch = min(BATCH, messages - sent)
        session.socket.sendall(batch * make(max(1, round(1000 * (due - time.monotonic())))))
        sent += batch
    barrier(session)
    time.sleep(max(0.0, due - tenant.seconds(PLAY_LEAD_S) - time.monotonic()))
    return lambda: tenant.await_ready(session, "due", messages)


def limit_lowered(tenant: Tenant) -> Play:
    """A policy lets a queue of a million messages keep one."""
    tenant.prepare([frames.declare("long")])
    tenant.fill("long", tenant.count(1_000_000))
    session = tenant.session()
    path = "/api/policies/stalls/short"
    body = b'{"pattern":"^long$","definition":{"max-length":1},"apply-to":"queues"}'

    def play() -> str:
        remark = answer(tenant.ask("PUT", path, body))
        return remark or tenant.await_ready(session, "long", 1, at_most=True)

    return play
