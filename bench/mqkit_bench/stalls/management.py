"""Actions over HTTP: those of the user, and the administrator's own."""

from __future__ import annotations

import json

from mqkit_bench.stalls import frames
from mqkit_bench.stalls.action import Play
from mqkit_bench.stalls.tenant import VHOST, Tenant, answer

NUMBERS = 10_000_000
KEYS = 1_600_000
IMPORTED_QUEUES = 30_000
FILLING = 200 * "k"
"""An argument of each imported queue, so that 30,000 of them are 9 MB."""
_BEFORE = b'{"routing_key":"q","payload":"x","payload_encoding":"string","properties":{"headers":{'
_AFTER = b"}}}"


def publish_numbers(tenant: Tenant) -> Play:
    """20 MB of JSON: a header that is a list of ten million numbers."""
    numbers = b'"n":[' + b",".join([b"1"] * tenant.count(NUMBERS)) + b"]"
    return _publish(tenant, numbers)


def publish_keys(tenant: Tenant) -> Play:
    """19 MB of JSON: 1.6 million headers."""
    return _publish(tenant, b",".join(b'"%x":1' % n for n in range(tenant.count(KEYS))))


def _publish(tenant: Tenant, headers: bytes) -> Play:
    tenant.prepare([frames.declare("q")])
    body = _BEFORE + headers + _AFTER
    path = f"/api/exchanges/{VHOST}/amq.default/publish"
    return lambda: answer(tenant.ask("POST", path, body))


def definitions(tenant: Tenant) -> Play:
    """9 MB of definitions for the tenant's virtual host, all of them queues."""
    queues = [
        {
            "name": f"imported.{number}",
            "durable": True,
            "auto_delete": False,
            "arguments": {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": FILLING},
        }
        for number in range(tenant.count(IMPORTED_QUEUES))
    ]
    body = json.dumps({"queues": queues}).encode()
    path = f"/api/definitions/{VHOST}"
    return lambda: answer(tenant.ask("POST", path, body, administrator=True))


def vhost_deleted(tenant: Tenant) -> Play:
    """With 50,000 durable queues in it."""
    numbers = range(tenant.count(50_000))
    tenant.prepare(frames.declare(f"q.{number}", durable=True) for number in numbers)
    tenant.hang_up()

    def play() -> str:
        return answer(tenant.ask("DELETE", f"/api/vhosts/{VHOST}", administrator=True))

    return play


def everything_listed(tenant: Tenant) -> Play:
    """An overview of everything, as a monitoring system asks for it, ten times."""
    tenant.prepare(frames.declare(f"q.{number}") for number in range(tenant.count(10_000)))

    def play() -> str:
        paths = ("overview", "queues", "exchanges", "bindings", "connections", "channels")
        for _ in range(10):
            for path in paths:
                tenant.ask("GET", f"/api/{path}")
        return ""

    return play
