"""Steps, verdicts, and what they would lose."""

from __future__ import annotations

import json

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.topology.planning.plan import StepAction, Verdict, name_of, plan
from mqkit.topology.snapshot import LiveQueue, Snapshot

WANTED = (Exchange("x", "topic"), Queue("q", arguments={"x-max-length": 5}), Binding("x", "q", "k"))
FULL = LiveQueue(Queue("q"), messages=12, consumers=3)


def test_an_empty_broker_gets_everything_in_order() -> None:
    steps = plan(WANTED, Snapshot("/")).steps
    assert [(step.verdict, step.declaration) for step in steps] == [
        (Verdict.ADDITIVE, declaration) for declaration in WANTED
    ]


def test_nothing_to_do() -> None:
    done = plan(WANTED, Snapshot.of("/", WANTED))
    assert done.changes == ()
    assert done.count(Verdict.NO_OP) == 3


def test_a_changed_argument_needs_a_migration_and_tells_what_hangs_on_it() -> None:
    (step,) = plan(WANTED[1:2], Snapshot("/", queues=(FULL,))).changes
    assert (step.verdict, step.action) == (Verdict.NEEDS_MIGRATION, StepAction.MIGRATE)
    assert (step.messages, step.consumers) == (12, 3)
    assert [str(item) for item in step.differences] == ["x-max-length: is not set, wanted 5"]


def test_what_the_file_does_not_name_is_kept_unless_pruned() -> None:
    actual = Snapshot("/", (Exchange("x"),), (FULL,), (Binding("x", "q"),))
    kept = plan((), actual)
    assert kept.changes == ()
    assert kept.steps[0].reason == "it is not in the file; kept"
    pruned = plan((), actual, prune=True)
    assert {step.verdict for step in pruned.steps} == {Verdict.NO_OP}
    assert "it has 12 messages and 3 consumers" in pruned.steps[1].reason
    forced = plan((), actual, prune=True, force=("q",))
    kinds = [type(step.declaration) for step in forced.steps]
    assert kinds == [Binding, Queue, Exchange]
    assert [step.verdict for step in forced.steps[1:]] == [Verdict.DESTRUCTIVE] * 2
    assert forced.steps[1].messages == 12
    actions = [StepAction.KEEP, StepAction.FORCE_DELETE, StepAction.DELETE]
    assert [step.action for step in forced.steps] == actions


def test_a_binding_whose_exchange_is_nowhere_is_foretold() -> None:
    (step,) = plan([Binding("nowhere", "q")], Snapshot("/")).steps
    assert "the broker will refuse it" in step.reason
    (step,) = plan([Binding("amq.topic", "q")], Snapshot("/")).steps
    assert "refuse" not in step.reason


def test_the_json_form() -> None:
    wanted = (Queue("q", arguments={"x-max-length": 5}), Binding("x", "q", "k", False, {"a": [1]}))
    document = plan(wanted, Snapshot("/", (Exchange("x"),), (FULL,))).to_dict()
    assert json.loads(json.dumps(document)) == document
    assert document["summary"] == {
        "no-op": 1,
        "additive": 1,
        "needs-migration": 1,
        "policy-only": 0,
        "refused": 0,
        "destructive": 0,
    }
    assert document["steps"][0] == {
        "verdict": "needs-migration",
        "action": "migrate",
        "kind": "queue",
        "name": "q",
        "durable": True,
        "exclusive": False,
        "auto_delete": False,
        "arguments": {"x-max-length": 5},
        "reason": "it is there with other properties, which a broker never changes in place",
        "differences": [{"field": "x-max-length", "desired": 5, "actual": None}],
        "messages": 12,
        "consumers": 3,
        "remarks": [],
    }
    assert document["unseen"] == []


def test_names_of_bindings() -> None:
    assert name_of(Binding("x", "q", "k")) == "x -> q [k]"
    assert name_of(Binding("x", "q")) == "x -> q"


def test_bindings_that_differ_in_arguments_have_names_that_differ() -> None:
    arguments = {"x-match": "all", "type": "a"}
    assert name_of(Binding("x", "q")) == "x -> q"
    for given in (arguments, dict(reversed(arguments.items()))):  # brokers have their own order
        name = name_of(Binding("x", "q", "k", arguments=given))
        assert name == "x -> q [k] {type: a, x-match: all}"
