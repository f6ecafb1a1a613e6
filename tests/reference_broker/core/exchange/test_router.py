"""router: each queue once, each exchange once, and where messages go that nobody wants."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.base.ids import Ids
from reference_broker.core.exchange.headers_match import HeadersMatcher
from reference_broker.core.exchange.router import LOOKS_PER_UNIT
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.vhost.vhost import VHost, VHostParts
from reference_broker.errors import ChannelException, ConnectionException


@pytest.fixture
def vhost() -> VHost:
    return VHost("/", VHostParts(MemoryJournal(), Ids(1)))


@pytest.fixture
def to_queue(vhost: VHost) -> Callable[..., None]:
    def bind(source: str, queue: str, key: str = "", arguments: Any = None) -> None:
        vhost.declare_queue(queue)
        vhost.bind(source, queue, key, arguments, destination_is_queue=True)

    return bind


@pytest.fixture
def to_exchange(vhost: VHost) -> Callable[..., None]:
    def bind(source: str, exchange: str, key: str = "") -> None:
        vhost.bind(source, exchange, key, destination_is_queue=False)

    return bind


def names(vhost: VHost, exchange: str, key: str = "", header: bytes | None = None) -> list[str]:
    return [queue.name for queue in vhost.resolve(vhost.exchanges[exchange], key, header)]


def with_headers(**headers: Any) -> bytes:
    return encode_header(0, Properties(headers=headers))


def test_the_default_exchange_names_a_queue(vhost: VHost) -> None:
    vhost.declare_queue("q")
    assert names(vhost, "", "q") == ["q"]
    assert names(vhost, "", "nope") == []
    assert not vhost.depends_on_headers(vhost.exchanges[""], "k")


def test_every_exchange_on_the_way_is_asked_for_all_keys(
    vhost: VHost, to_queue: Callable[..., None], to_exchange: Callable[..., None]
) -> None:
    vhost.declare_exchange("x", "direct", arguments={"alternate-exchange": "amq.fanout"})
    to_exchange("x", "amq.topic", "one")
    to_queue("amq.topic", "q", "two")
    to_queue("amq.fanout", "unwanted")
    exchange = vhost.exchanges["x"]
    assert [queue.name for queue in vhost.resolve(exchange, "", None, ("one", "two"))] == ["q"]
    assert names(vhost, "x", "one") == []
    assert names(vhost, "x", "two") == ["unwanted"]


def test_each_queue_once_in_order_of_binding(vhost: VHost, to_queue: Callable[..., None]) -> None:
    for queue in ("c", "a", "b"):
        for key in ("k", "#", "*"):
            to_queue("amq.topic", queue, key)
            to_queue("amq.fanout", queue, key)
    assert names(vhost, "amq.fanout") == ["c", "a", "b"]
    assert sorted(names(vhost, "amq.topic", "k")) == ["a", "b", "c"]


def test_headers_decide_where_a_headers_exchange_is_reached(
    vhost: VHost, to_queue: Callable[..., None], to_exchange: Callable[..., None]
) -> None:
    to_queue("amq.headers", "q", "", {"colour": "red"})
    to_exchange("amq.fanout", "amq.headers")
    assert names(vhost, "amq.fanout", "", with_headers(colour="red")) == ["q"]
    assert names(vhost, "amq.fanout", "", with_headers(colour="blue")) == []
    assert names(vhost, "amq.fanout", "", None) == []
    assert vhost.depends_on_headers(vhost.exchanges["amq.fanout"], "k")
    assert not vhost.depends_on_headers(vhost.exchanges["amq.direct"], "k")


def test_a_broken_header_table_matters_only_to_a_headers_exchange(
    vhost: VHost, to_queue: Callable[..., None]
) -> None:
    broken = with_headers(a=1)[:-3]
    to_queue("amq.fanout", "q")
    assert names(vhost, "amq.fanout", "", broken) == ["q"]
    with pytest.raises(ConnectionException):
        names(vhost, "amq.headers", "", broken)


def test_cycles_end(
    vhost: VHost, to_queue: Callable[..., None], to_exchange: Callable[..., None]
) -> None:
    for name in "abc":
        vhost.declare_exchange(name, "fanout")
        to_queue(name, f"q{name}")
    for source, destination in ("ab", "bc", "ca", "aa"):
        to_exchange(source, destination)
    assert names(vhost, "a") == ["qa", "qb", "qc"]
    assert names(vhost, "c") == ["qc", "qa", "qb"]
    assert not vhost.depends_on_headers(vhost.exchanges["a"], "k")


def test_an_alternate_exchange_takes_what_matches_nothing(
    vhost: VHost, to_queue: Callable[..., None]
) -> None:
    vhost.declare_exchange("x", "direct", arguments={"alternate-exchange": "unrouted"})
    to_queue("x", "q", "k")
    assert names(vhost, "x", "other") == []  # it need not exist
    vhost.declare_exchange("unrouted", "fanout")
    to_queue("unrouted", "lost")
    assert names(vhost, "x", "other") == ["lost"]
    assert names(vhost, "x", "k") == ["q"]


def test_a_match_that_leads_nowhere_is_still_a_match(
    vhost: VHost, to_queue: Callable[..., None], to_exchange: Callable[..., None]
) -> None:
    vhost.declare_exchange("x", "fanout", arguments={"alternate-exchange": "amq.fanout"})
    vhost.declare_exchange("dead-end", "fanout")
    to_queue("amq.fanout", "lost")
    to_exchange("x", "dead-end")
    assert names(vhost, "x") == []


def test_the_default_exchange_as_alternate_leads_nowhere(vhost: VHost) -> None:
    vhost.declare_queue("k")
    vhost.declare_exchange("x", "fanout", arguments={"alternate-exchange": ""})
    assert names(vhost, "x", "k") == []


def test_alternates_may_go_round_in_a_circle(vhost: VHost) -> None:
    for name, alternate in ("ab", "ba", "cc"):
        vhost.declare_exchange(name, "direct", arguments={"alternate-exchange": alternate})
    assert names(vhost, "a") == names(vhost, "c") == []
    assert not vhost.depends_on_headers(vhost.exchanges["a"], "k")


def test_an_alternate_may_depend_on_headers(vhost: VHost) -> None:
    vhost.declare_exchange("x", "direct", arguments={"alternate-exchange": "later"})
    assert not vhost.depends_on_headers(vhost.exchanges["x"], "k")
    before = vhost.topology_version
    vhost.declare_exchange("later", "headers")
    assert vhost.topology_version > before
    assert vhost.depends_on_headers(vhost.exchanges["x"], "k")


def test_a_long_chain_is_no_deep_recursion(
    vhost: VHost, to_queue: Callable[..., None], to_exchange: Callable[..., None]
) -> None:
    for number in range(3000):
        vhost.declare_exchange(f"x{number}", "fanout")
        if number:
            to_exchange(f"x{number - 1}", f"x{number}")
    to_queue("x2999", "q")
    assert names(vhost, "x0") == ["q"]
    assert not vhost.depends_on_headers(vhost.exchanges["x0"], "k")


def test_the_same_topology_gives_the_same_order(vhost: VHost) -> None:
    """Two virtual hosts, told the same in the same order."""
    other = VHost("o", VHostParts(MemoryJournal(), Ids(2, b"x")))
    for host in (vhost, other):
        choose = random.Random(1)
        for number in range(40):
            host.declare_queue(f"q{number}")
            for _ in range(3):
                key = ".".join(choose.choice(["a", "b", "*", "#"]) for _ in range(3))
                host.bind("amq.topic", f"q{number}", key, destination_is_queue=True)
    for key in ("a.b.a", "a", "b.b.b.b"):
        assert names(vhost, "amq.topic", key) == names(other, "amq.topic", key)


@pytest.mark.parametrize(
    ("type", "arguments", "depends"),
    [
        ("x-consistent-hash", {}, False),
        ("x-consistent-hash", {"hash-header": "id"}, True),
        ("x-consistent-hash", {"hash-property": "message_id"}, True),
        ("x-modulus-hash", {}, False),
        ("x-random", {}, True),
    ],
)
def test_a_route_is_kept_only_where_the_key_alone_decides(
    vhost: VHost, to_exchange: Callable[..., None], type: str, arguments: Any, depends: bool
) -> None:
    vhost.declare_exchange("behind", type, arguments=arguments)
    assert vhost.depends_on_headers(vhost.exchanges["behind"], "k") is depends
    to_exchange("amq.direct", "behind", "k")
    assert vhost.depends_on_headers(vhost.exchanges["amq.direct"], "k") is depends


def test_one_of_several_queues_by_the_hash_of_a_header(
    vhost: VHost, to_queue: Callable[..., None]
) -> None:
    vhost.declare_exchange("x", "x-consistent-hash", arguments={"hash-header": "id"})
    for number in range(20):
        to_queue("x", f"q{number}", "1")
    found = [names(vhost, "x", f"key {n}", with_headers(id=n // 2)) for n in range(40)]
    assert found[::2] == found[1::2]
    assert len({queue for (queue,) in found}) > 5


def all_names(vhost: VHost, exchange: str, *keys: str) -> list[str]:
    first, *more = keys
    return [queue.name for queue in vhost.resolve(vhost.exchanges[exchange], first, None, more)]


def test_more_keys_find_more_queues_each_once(vhost: VHost, to_queue: Callable[..., None]) -> None:
    for source in ("amq.direct", "amq.topic"):
        for queue, key in (("a", "k.a"), ("b", "k.b"), ("a", "k.b")):
            to_queue(source, queue, key)
        assert all_names(vhost, source, "k.b", "k.a", "k.b", "nope") == ["b", "a"]
    to_queue("amq.topic", "c", "k.#")
    assert sorted(all_names(vhost, "amq.topic", "nope", "k.a", "k.b")) == ["a", "b", "c"]
    assert all_names(vhost, "", "b", "nope", "a") == ["b", "a"]


def test_an_exchange_that_chooses_does_so_once_for_all_keys(vhost: VHost) -> None:
    for kind in ("x-random", "x-consistent-hash", "x-modulus-hash"):
        vhost.declare_exchange(kind, kind)
        for number in range(8):
            vhost.declare_queue(f"q{number}")
            vhost.bind(kind, f"q{number}", "1", destination_is_queue=True)
        assert len(all_names(vhost, kind, *(f"k{number}" for number in range(50)))) == 1


def test_the_alternate_takes_a_message_of_which_no_key_fits(
    vhost: VHost, to_queue: Callable[..., None]
) -> None:
    vhost.declare_exchange("x", "direct", arguments={"alternate-exchange": "amq.fanout"})
    to_queue("x", "a", "k")
    to_queue("amq.fanout", "b")
    assert all_names(vhost, "x", "nope", "k") == ["a"]
    assert all_names(vhost, "x", "k", "nope") == ["a"]
    assert all_names(vhost, "x", "nope", "neither") == ["b"]


def test_bindings_are_looked_at_once_however_many_keys(vhost: VHost) -> None:
    """A thousand keys at a thousand bindings were a million looks."""
    vhost.declare_queue("q")
    vhost.bind("amq.headers", "q", "", {"a": 1}, destination_is_queue=True)
    matcher = vhost.exchanges["amq.headers"]._matcher
    assert isinstance(matcher, HeadersMatcher)
    looked = []
    for more in ([], [f"k{number}" for number in range(1_000)]):
        header = with_headers(a=1)
        assert len(vhost.resolve(vhost.exchanges["amq.headers"], "", header, more)) == 1
        looked.append(matcher.looked)
    assert looked[0] == looked[1] < 10


def test_keys_that_cost_too_much_find_nothing_for_a_dead_letter(
    vhost: VHost, to_queue: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    to_queue("amq.topic", "q", "#.a.#")
    monkeypatch.setattr("reference_broker.core.exchange.topic_trie.PLACES_MAX", 3)
    with pytest.raises(ChannelException, match="more than 3 places"):
        names(vhost, "amq.topic", "a.a.a")
    assert vhost.route("amq.topic", "a.a.a", b"") == ()
    assert vhost.route("amq.topic", "a", b"") is not None


def test_by_the_default_exchange_it_goes_to_the_queues_of_its_keys(vhost: VHost) -> None:
    one, two = vhost.declare_queue("one"), vhost.declare_queue("two")
    assert vhost.route("", "one", b"", again=True) == (one,)
    assert vhost.route("", "one", b"", ["two", "nowhere", "one"], again=True) == (one, two)
    assert vhost.route("", "nowhere", b"", again=True) == ()
    assert vhost.route("", "nowhere", b"", ["two"], again=True) == (two,)


def spent(vhost: VHost, exchange: str, key: str = "", header: bytes | None = None) -> int:
    vhost.budget.refill()
    vhost.resolve(vhost.exchanges[exchange], key, header)
    return vhost.budget.units - vhost.budget.left


def test_a_route_costs_its_exchanges_and_bindings(
    vhost: VHost, to_queue: Callable[..., None], to_exchange: Callable[..., None]
) -> None:
    for number in range(400):
        to_queue("amq.fanout", f"q{number}")
    assert spent(vhost, "amq.fanout") == 1 + 400 // LOOKS_PER_UNIT
    for number in range(100):
        vhost.declare_exchange(f"x{number}", "headers")
        to_exchange(f"x{number - 1}" if number else "amq.headers", f"x{number}")
    assert spent(vhost, "amq.headers", "", with_headers(a=1)) == 101 + 100 // LOOKS_PER_UNIT
    to_queue("amq.direct", "q1", "k")
    assert spent(vhost, "amq.direct", "k") == 1


def test_a_route_that_is_refused_costs_what_it_took(
    vhost: VHost, to_queue: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    to_queue("amq.topic", "q", "#.a.#")
    monkeypatch.setattr("reference_broker.core.exchange.topic_trie.PLACES_MAX", 300)
    with pytest.raises(ChannelException):
        spent(vhost, "amq.topic", ".".join("a" * 127))
    assert vhost.budget.units - vhost.budget.left >= 300 // LOOKS_PER_UNIT


def test_a_binding_to_what_is_being_deleted_leads_nowhere(
    vhost: VHost, to_queue: Callable[..., None], to_exchange: Callable[..., None]
) -> None:
    to_queue("amq.direct", "gone", "k")
    vhost.declare_exchange("gone too", "fanout")
    to_exchange("amq.direct", "gone too", "k")
    to_queue("amq.direct", "stays", "k")
    for objects, name in ((vhost.queues, "gone"), (vhost.exchanges, "gone too")):
        assert isinstance(objects, dict)
        del objects[name]
    assert names(vhost, "amq.direct", "k") == ["stays"]
    assert not vhost.depends_on_headers(vhost.exchanges["amq.direct"], "k")
    assert names(vhost, "amq.direct", "other") == []
