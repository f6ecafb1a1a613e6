"""A prune deletes nothing that holds a message, or that something needs."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.errors import ConfigurationError
from mqkit.topology import LiveQueue, Snapshot, Wanted, compile_topology, loads
from mqkit.topology.planning.pruning import Pruning
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel

FILE = """
exchanges: {in: {type: topic}, theirs: {external: true}}
queues: {q: {}, ext: {external: true}}
"""


def dead_lettering(name: str, to: str, key: str | None = None) -> Queue:
    keyed = {} if key is None else {"x-dead-letter-routing-key": key}
    return Queue(name, arguments={"x-dead-letter-exchange": to, **keyed})


def judged(
    *extras: Declaration | LiveQueue,
    force: Collection[str] = (),
    policies: tuple[PolicyModel, ...] = (),
    file: str = FILE,
) -> dict[str, str]:
    """The extras that stay, with the reason; those that go, or go with another, are not in it."""
    topology = loads(file)
    own = compile_topology(topology)
    declared = [it for it in extras if not isinstance(it, LiveQueue)]
    base = Snapshot.of("/", (*own, *declared))
    lives = tuple(it for it in extras if isinstance(it, LiveQueue))
    actual = Snapshot("/", base.exchanges, (*base.queues, *lives), base.bindings, policies=policies)
    pruning = Pruning(Wanted.of(topology, policies), actual, force)
    found = {}
    for it in (*declared, *(live.queue for live in lives), *policies):
        judgement = pruning.of(it)
        name = f"{it.source}->{it.destination}" if isinstance(it, Binding) else it.name
        if not judgement.goes and "goes with" not in judgement.reason:
            found[name] = judgement.reason
    return found


def test_what_is_empty_and_unused_goes() -> None:
    assert judged(Queue("old"), Exchange("was"), Binding("was", "old"), Binding("in", "old")) == {}


@pytest.mark.parametrize(
    ("messages", "consumers", "words"),
    [
        (1, 0, "it has 1 message "),
        (0, 2, "it has 2 consumers "),
        (3, 1, "it has 3 messages and 1 consumer "),
    ],
)
def test_a_queue_in_use_stays_with_what_leads_to_it(
    messages: int, consumers: int, words: str
) -> None:
    kept = judged(
        LiveQueue(Queue("old"), messages, consumers), Exchange("was"), Binding("was", "old")
    )
    assert words in kept["old"]
    assert "'old' is bound to it" in kept["was"]
    assert set(kept) == {"old", "was", "was->old"}


def test_a_queue_without_counts_goes_if_the_broker_finds_it_empty() -> None:
    assert judged(LiveQueue(Queue("old"), None, None)) == {}


def test_what_something_that_stays_dead_letters_to_stays() -> None:
    full = LiveQueue(dead_lettering("full", "dlx"), 1, 0)
    kept = judged(full, Exchange("dlx"), Queue("lot"), Binding("dlx", "lot"))
    assert set(kept) == {"full", "dlx"}  # the exchange is needed, and what it has bound is empty
    kept = judged(LiveQueue(dead_lettering("full", "", "lot"), 1, 0), Queue("lot"))
    assert "'full' dead-letters to it" in kept["lot"]
    assert judged(dead_lettering("empty", "", "lot"), Queue("lot")) == {}


def test_an_alternate_exchange_of_the_file_s_stays() -> None:
    file = "exchanges: {in: {arguments: {alternate-exchange: other}}, other: {external: true}}"
    assert "external" in judged(Exchange("other"), file=file)["other"]


def test_the_tiers_and_the_lot_of_a_queue_that_stays_stay() -> None:
    parts = (Queue("old.retry.5s"), Queue("old.parked"))
    kept = judged(LiveQueue(Queue("old"), 1, 0), *parts)
    assert set(kept) == {"old", "old.retry.5s", "old.parked"}
    assert judged(Queue("old"), *parts) == {}
    # But a tier that the file's own queue has no more, is left over.
    assert judged(Queue("q.retry.5s"), Queue("q.parked")) == {}


def test_the_delays_of_an_exchange_that_stays_stay() -> None:
    full = LiveQueue(Queue("old"), 1, 0)
    made = (Exchange("was.delay.5s"), Queue("was.delay.5s"))
    kept = judged(full, Exchange("was"), Binding("was", "old"), *made)
    assert "it is a delay of 'was'" in kept["was.delay.5s"]


def test_rings_of_unused_exchanges_go() -> None:
    ring = (Binding("a", "b", to_exchange=True), Binding("b", "a", to_exchange=True))
    assert judged(Exchange("a"), Exchange("b"), *ring) == {}


def test_what_is_external_or_exclusive_is_never_touched() -> None:
    kept = judged(Queue("ext"), Exchange("theirs"), Queue("mine", exclusive=True))
    assert set(kept) == {"ext", "theirs", "mine"}
    assert set(judged(Queue("ext"), Binding("in", "ext"))) == {"ext", "in->ext"}


def test_a_binding_goes_where_the_file_has_both_its_ends() -> None:
    assert judged(Binding("in", "q", "stale"), Binding("amq.topic", "q", "stale")) == {}


def test_a_binding_is_not_unbound_before_its_queue_is_found_empty() -> None:
    topology = loads(FILE)
    there = (*compile_topology(topology), Queue("old"), Binding("in", "old"))
    judgement = Pruning(Wanted.of(topology), Snapshot.of("/", there)).of(Binding("in", "old"))
    assert not judgement.goes
    assert "it goes with what it binds" in judgement.reason


def test_what_is_named_goes_whatever_is_in_it() -> None:
    full = LiveQueue(Queue("old"), 5, 1)
    assert judged(full, Exchange("was"), Binding("was", "old"), force={"old"}) == {}
    assert set(judged(full, Exchange("was"), Binding("was", "old"), force={"was"})) == {"old"}


@pytest.mark.parametrize("name", ["nothing", "q", "in", "ext", "theirs"])
def test_a_name_that_is_nothing_to_delete_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"--force {name}: there is no"):
        judged(Queue("ext"), Exchange("theirs"), force={name})


def test_policies_go_with_their_queue_or_by_name() -> None:
    own = PolicyModel("old.policy", "^old$", ApplyTo.QUEUES, 0, {"expires": 5})
    wide = PolicyModel("wide", "", ApplyTo.ALL, 0, {"expires": 5})
    assert set(judged(Queue("old"), policies=(own, wide))) == {"wide"}
    assert set(judged(LiveQueue(Queue("old"), 1, 0), policies=(own,))) == {"old", "old.policy"}
    assert judged(policies=(own, wide), force={"wide"}) == {}
