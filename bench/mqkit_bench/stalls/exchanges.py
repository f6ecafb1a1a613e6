"""Actions that ask much of exchanges and their bindings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from mqkit.wire import methods
from mqkit_bench.stalls import frames
from mqkit_bench.stalls.action import Play
from mqkit_bench.stalls.tenant import PLAY_TIMEOUT_S, Tenant, write

EXCHANGE = "routes"
MANY_WORDS = 100
"""Words of a topic key; its 255 octets hold hardly more."""
FEW_WORDS = 30


def headers(tenant: Tenant) -> Play:
    """Each message matches one binding of ten thousand."""

    def topology() -> Iterator[bytes]:
        yield frames.declare("matched")
        yield frames.declare_exchange(EXCHANGE, "headers")
        for number in range(tenant.count(10_000)):
            arguments = {"x-match": "all", "kind": f"k{number}", "size": number % 10}
            yield frames.bind("matched", EXCHANGE, arguments=arguments)

    session = tenant.prepare(topology())
    message = frames.publish(EXCHANGE, "", headers={"kind": "k1", "size": 1, "note": "x"})
    octets = tenant.count(500) * message
    return lambda: write(session, octets)


def consistent_hash(tenant: Tenant) -> Play:
    session = tenant.prepare(
        [
            frames.declare_exchange(EXCHANGE, "x-consistent-hash"),
            *frames.fan(tenant.count(20_000), EXCHANGE, key="1"),
        ]
    )
    octets = b"".join(frames.publish(EXCHANGE, f"k{n}") for n in range(tenant.count(200)))
    return lambda: write(session, octets)


def few_words(tenant: Tenant) -> Play:
    return _words(tenant, FEW_WORDS, 4)


def many_words(tenant: Tenant) -> Play:
    return _words(tenant, MANY_WORDS, 12)


def _words(tenant: Tenant, words: int, stars: int) -> Play:
    """Patterns with many ``#``, and keys that nearly match in very many ways."""

    def topology() -> Iterator[bytes]:
        yield frames.declare("matched")
        yield frames.declare_exchange(EXCHANGE, "topic")
        for number in range(tenant.count(2_000)):
            yield frames.bind("matched", EXCHANGE, "#." + stars * "a.#." + f"b{number}")

    session = tenant.prepare(topology())
    near = ".".join(words * "a")  # and each key is another one: brokers remember routes
    octets = b"".join(frames.publish(EXCHANGE, f"{near}.c{n}") for n in range(tenant.count(200)))
    return lambda: write(session, octets)


def chain(tenant: Tenant) -> Play:
    """Exchanges of which each is bound to the next."""
    names = [f"chain.{number}" for number in range(tenant.count(2_000))]
    session = tenant.prepare(
        [
            frames.declare("matched"),
            *(frames.declare_exchange(name, "headers") for name in names),
            *(frames.bind_exchange(after, name) for name, after in pairwise(names)),
            frames.bind("matched", names[-1]),
        ]
    )
    octets = tenant.count(100) * frames.publish(names[0], "", headers={"kind": "any"})
    return lambda: write(session, octets)


def alternates(tenant: Tenant) -> Play:
    """Exchanges that route nothing, of which each has the next one for its alternate."""
    names = [f"chain.{number}" for number in range(tenant.count(2_000))]
    session = tenant.prepare(
        frames.declare_exchange(name, "direct", {"alternate-exchange": after})
        for name, after in zip(names, [*names[1:], "none"], strict=True)
    )
    octets = b"".join(frames.publish(names[0], f"k{n}") for n in range(tenant.count(100)))
    return lambda: write(session, octets)


def exchange_deleted(tenant: Tenant) -> Play:
    session = tenant.prepare(_bound(tenant.count(100_000)))

    def play() -> str:
        session.socket.settimeout(PLAY_TIMEOUT_S)
        session.call(1, methods.ExchangeDelete(exchange=EXCHANGE), methods.ExchangeDeleteOk)
        return ""

    return play


def bound_queue_deleted(tenant: Tenant) -> Play:
    session = tenant.prepare(_bound(tenant.count(100_000)))

    def play() -> str:
        session.socket.settimeout(PLAY_TIMEOUT_S)
        session.delete("bound")
        return ""

    return play


def bindings_listed(tenant: Tenant) -> Play:
    """Another five lists after the first."""
    tenant.prepare(_bound(tenant.count(100_000)))

    def play() -> str:
        statuses = {tenant.ask("GET", "/api/bindings/stalls").status_code for _ in range(5)}
        return "" if statuses == {200} else f"answers {statuses}"

    return play


def bind_flood(tenant: Tenant) -> Play:
    """A hundred thousand bindings in one write."""
    session = tenant.prepare([])
    octets = b"".join(_bound(tenant.count(100_000)))
    return lambda: write(session, octets)


def _bound(bindings: int) -> Iterator[bytes]:
    """One exchange and one queue with so many bindings between them."""
    yield frames.declare("bound")
    yield frames.declare_exchange(EXCHANGE, "direct")
    for number in range(bindings):
        yield frames.bind("bound", EXCHANGE, f"k{number}")
