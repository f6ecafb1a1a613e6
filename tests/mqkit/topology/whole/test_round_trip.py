"""Any valid model: compiled, applied, compared, exported, read again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.errors import ConfigurationError
from mqkit.retry import ErrorRule, Growth, RetryNames, RetryPolicy, Then
from mqkit.topology import (
    Bind,
    ChangeKind,
    DeadLetter,
    ExchangeModel,
    Overflow,
    QueueModel,
    QueueType,
    Snapshot,
    Topology,
    Verdict,
    compile_topology,
    diff,
    export,
    loads,
    plan,
    validate,
)
from mqkit.topology.exporting.emit import emit

letters = st.characters(codec="utf-8", exclude_categories=["Cs"])
names = st.sampled_from(["a", "b", "c", "d.retry.5s", "d", "a.delay.5s"]) | st.text(
    letters, min_size=1, max_size=6
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(letters, max_size=8)
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text(letters, max_size=4), inner, max_size=2)
    ),
    max_leaves=4,
)
tables = st.dictionaries(st.text(letters, max_size=8).map(lambda name: f"y-{name}"), values)
few_tables: st.SearchStrategy[dict[str, Any]] = st.just({}) | tables
binds = st.lists(
    st.builds(Bind, names, st.text(letters, max_size=8), few_tables), max_size=2, unique_by=repr
).map(tuple)
durations = st.integers(1, 10**9)
waits = st.lists(durations, min_size=1, max_size=3).map(lambda after: tuple(sorted(after)))
ends = st.sampled_from(Then)
rules = st.lists(
    st.builds(ErrorRule, st.sampled_from(["KeyError", "shop.Gone", "null"]), waits | ends),
    max_size=2,
    unique_by=lambda rule: rule.name,
).map(tuple)
growths = st.builds(
    Growth,
    st.integers(1, 10**6),
    st.integers(1, 8),
    st.floats(1, 1_000),
    st.integers(10**6, 10**9),
    st.sampled_from([0, 0.2, 1e-5]),
)
grown = st.builds(
    lambda growth, end, given_up: RetryPolicy(
        growth.after, end, growth=growth, give_up_after_ms=given_up
    ),
    growths,
    ends,
    st.none() | st.integers(10**6, 10**9),
)


def _named(policy: RetryPolicy, park: str | None, tiers: str | None) -> RetryPolicy:
    """The policy with names, if it can have them."""
    try:
        return replace(policy, names=RetryNames(park if policy.parks else None, tiers))
    except ConfigurationError:
        return policy


policies = st.builds(
    _named,
    st.builds(RetryPolicy, waits, ends, rules) | grown,
    st.none() | st.sampled_from(["a", "b", "c", "a.parked"]) | names,
    st.none() | st.sampled_from(["a", "w", "w.{after}", "a.retry.{after}"]),
)
exchanges = st.builds(
    ExchangeModel,
    name=names,
    type=st.sampled_from(["direct", "topic", "fanout", "headers", "x-mine"]),
    durable=st.booleans(),
    auto_delete=st.booleans(),
    internal=st.booleans(),
    alternate=st.none() | names,
    delays=st.just(())
    | st.lists(durations, max_size=3, unique=True).map(lambda them: tuple(sorted(them))),
    bind=binds,
    arguments=few_tables,
)
queues = st.builds(
    QueueModel,
    name=names,
    type=st.none() | st.sampled_from(QueueType),
    durable=st.just(True) | st.booleans(),
    auto_delete=st.just(False) | st.booleans(),
    max_length=st.none() | st.integers(0, 2**40),
    max_length_bytes=st.none() | st.integers(0, 2**40),
    overflow=st.none() | st.sampled_from(Overflow),
    message_ttl_ms=st.none() | durations,
    expires_ms=st.none() | durations,
    max_priority=st.none() | st.integers(1, 255),
    dead_letter=st.none() | st.builds(DeadLetter, names | st.just(""), st.none() | names),
    retry=st.none() | policies,
    bind=binds,
    arguments=few_tables,
)


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Valid ones: what a random model gets wrong is taken out of it, object by object."""
    drawn = draw(st.lists(exchanges, max_size=4, unique_by=lambda model: model.name))
    more = draw(st.lists(queues, max_size=4, unique_by=lambda model: model.name))
    known = {model.name for model in drawn}

    def bound(model: Any) -> Any:
        return replace(model, bind=tuple(bind for bind in model.bind if bind.source in known))

    exchanges_bound, queues_bound = [bound(model) for model in drawn], [bound(it) for it in more]
    kept: list[Any] = []
    for model in (*exchanges_bound, *queues_bound):
        candidates = (model, replace(model, bind=()), type(model)(model.name))
        for candidate in candidates:
            if not validate(_topology([*kept, candidate])):
                kept.append(candidate)
                break
    topology = _topology(kept)
    assume(not validate(topology))
    return topology


def _topology(models: list[Any]) -> Topology:
    return Topology(
        tuple(model for model in models if isinstance(model, ExchangeModel)),
        tuple(model for model in models if isinstance(model, QueueModel)),
        "/",
    )


@pytest.mark.slow
@given(topologies())
def test_after_an_apply_nothing_differs(topology: Topology) -> None:
    desired = compile_topology(topology)
    changes = diff(desired, Snapshot.of("/", desired))
    assert {change.kind for change in changes} <= {ChangeKind.SAME}


@pytest.mark.slow
@given(topologies())
def test_what_is_written_reads_back_as_an_equal_model(topology: Topology) -> None:
    assert loads(emit(topology)) == topology


@pytest.mark.slow
@given(topologies())
def test_an_export_validates_and_plans_as_nothing_to_do(topology: Topology) -> None:
    live = Snapshot.of("/", compile_topology(topology))
    text = export(live)
    again = plan(compile_topology(loads(text)), live, prune=True)
    assert again.count(Verdict.NO_OP) == len(again.steps)
    assert export(live) == text


@pytest.mark.slow
@given(topologies(), topologies())
def test_an_export_by_any_file_declares_what_is_there_and_by_its_own_keeps_all_policies(
    topology: Topology, other: Topology
) -> None:
    live = Snapshot.of("/", compile_topology(topology))
    by_its_own = export(live, like=topology)
    for text in (by_its_own, export(live, like=other)):
        if text.startswith("# mqkit refuses this"):
            continue
        again = plan(compile_topology(loads(text)), live, prune=True)
        assert again.count(Verdict.NO_OP) == len(again.steps)
    kept = {it.name: it.retry for it in loads(by_its_own).queues}
    for model in topology.queues:
        if model.retry is not None:
            assert kept[model.name] == model.retry


live_arguments = st.dictionaries(
    st.sampled_from(
        [
            *("x-message-ttl", "x-max-length", "x-overflow", "x-dead-letter-exchange"),
            *("x-dead-letter-routing-key", "x-queue-type", "x-expires", "alternate-exchange"),
        ]
    ),
    scalars | st.sampled_from(["", "a", "b", "drop-head", "quorum", "classic"]),
)
live_names = st.sampled_from(
    [
        *("a", "b", "a.parked", "a.retry.1s", "a.retry.60s", "a.retry.1s.parked", "b.retry.5s"),
        *("a.delay.5s", "a.delay.5s.delay.1s"),
    ]
)


@pytest.mark.slow
@given(
    st.lists(st.builds(Exchange, live_names, arguments=live_arguments), unique_by=lambda x: x.name),
    st.lists(
        st.builds(Queue, live_names, st.booleans(), arguments=live_arguments),
        unique_by=lambda queue: queue.name,
    ),
    st.data(),
)
def test_the_export_of_any_broker_compiles_to_what_is_there_or_says_why_not(
    live_exchanges: list[Exchange], live_queues: list[Queue], data: st.DataObject
) -> None:
    found: list[Binding] = []
    if live_exchanges and live_queues:
        sources = st.sampled_from([exchange.name for exchange in live_exchanges])
        targets = st.sampled_from([queue.name for queue in live_queues])
        found = data.draw(
            st.lists(st.builds(Binding, sources, targets), max_size=3, unique_by=repr)
        )
    live = Snapshot.of("/", (*live_exchanges, *live_queues, *found))
    text = export(live)
    if text.startswith("# mqkit refuses this"):
        return
    again = plan(compile_topology(loads(text)), live, prune=True)
    assert [step for step in again.steps if step.verdict is not Verdict.NO_OP] == []
