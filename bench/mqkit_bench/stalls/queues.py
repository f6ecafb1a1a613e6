"""Actions that declare, empty or delete queues."""

from __future__ import annotations

import json
import time

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.stalls import frames
from mqkit_bench.stalls.action import Play
from mqkit_bench.stalls.tenant import (
    PLAY_LEAD_S,
    PLAY_TIMEOUT_S,
    VHOST,
    Tenant,
    answer,
    ask_at_once,
    write,
)

QUEUE = "long"
PRIORITIES = 255
EXPIRY_LEAD_S = 10.0
"""20,000 queues are declared before the first of them expires."""


def delete(tenant: Tenant) -> Play:
    return _end(tenant, methods.QueueDelete(queue=QUEUE), methods.QueueDeleteOk)


def purge(tenant: Tenant) -> Play:
    return _end(tenant, methods.QueuePurge(queue=QUEUE), methods.QueuePurgeOk)


def _end(tenant: Tenant, request: methods.Method, done: type[methods.Method]) -> Play:
    session = tenant.prepare([frames.declare(QUEUE, durable=True)])
    tenant.fill(QUEUE, tenant.count(1_000_000), persistent=True)

    def play() -> str:
        session.socket.settimeout(PLAY_TIMEOUT_S)
        session.call(1, request, done)
        return ""

    return play


def priorities(tenant: Tenant) -> Play:
    session = tenant.prepare([])
    arguments = {"x-max-priority": PRIORITIES}
    names = [f"priority.{number}" for number in range(tenant.count(2_000))]
    octets = b"".join(frames.declare(name, arguments) for name in names)
    return lambda: write(session, octets)


def declared_passively(tenant: Tenant) -> Play:
    """Questions for a queue's counts, in one write."""
    session = tenant.prepare([frames.declare(QUEUE)])
    question = wire.method_frame(1, methods.QueueDeclare(queue=QUEUE, passive=True))
    done = wire.method_frame(1, methods.QueueDeclareOk(QUEUE, 0, 0))
    count = tenant.count(50_000)
    return lambda: ask_at_once(session, question, done, count)


def got_empty(tenant: Tenant) -> Play:
    """A basic.get of an empty queue, again and again in one write."""
    session = tenant.prepare([frames.declare(QUEUE)])
    question = wire.method_frame(1, methods.BasicGet(queue=QUEUE))
    empty = wire.method_frame(1, methods.BasicGetEmpty())
    count = tenant.count(50_000)
    return lambda: ask_at_once(session, question, empty, count)


def expire(tenant: Tenant) -> Play:
    """20,000 unused queues expire at one moment, soon after the play begins."""
    due = time.monotonic() + 0.5 + EXPIRY_LEAD_S * tenant.scale + tenant.seconds(PLAY_LEAD_S)
    names = [f"q.{number}" for number in range(tenant.count(20_000))]
    tenant.prepare(
        frames.declare(name, {"x-expires": max(1, round(1000 * (due - time.monotonic())))})
        for name in names
    )
    time.sleep(max(0.0, due - tenant.seconds(PLAY_LEAD_S) - time.monotonic()))
    return lambda: tenant.await_gone(names[-1])


def listed(tenant: Tenant) -> Play:
    """Another three lists after the first."""
    tenant.prepare(frames.declare(f"q.{number}") for number in range(tenant.count(50_000)))

    def play() -> str:
        statuses = {tenant.ask("GET", f"/api/queues/{VHOST}").status_code for _ in range(3)}
        return "" if statuses == {200} else f"answers {statuses}"

    return play


def policy(tenant: Tenant) -> Play:
    """A policy for 50,000 queues."""
    tenant.prepare(frames.declare(f"q.{number}") for number in range(tenant.count(50_000)))
    wish = {"pattern": "^q", "definition": {"max-length": 1_000}, "apply-to": "queues"}
    body = json.dumps(wish).encode()
    return lambda: answer(tenant.ask("PUT", f"/api/policies/{VHOST}/all", body))
