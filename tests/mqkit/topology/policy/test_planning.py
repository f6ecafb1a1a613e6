"""Steps for policies, and remarks about what is in force after an apply."""

from __future__ import annotations

from dataclasses import replace

from mqkit.declaration import Queue
from mqkit.topology import (
    Plan,
    Snapshot,
    Step,
    StepAction,
    Verdict,
    Wanted,
    compile_topology,
    loads,
    plan,
)
from mqkit.topology.planning.step import name_of
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel

OWN = "queues: {q: {max_length: 9, overflow: drop-head, via_policy: [max_length]}}"
OWN_POLICY = PolicyModel("q.policy", "^q$", ApplyTo.QUEUES, 0, {"max-length": 9})
WIDE = PolicyModel("wide", "", ApplyTo.ALL, 3, {"ha-mode": "all", "expires": 60_000})


def planned(text: str, *policies: PolicyModel, live: str = "", prune: bool = False) -> Plan:
    topology = loads(text)
    there = compile_topology(loads(live)) if live else compile_topology(topology)
    actual = replace(Snapshot.of("/", there), policies=policies)
    return plan(Wanted.of(topology, policies), actual, prune=prune)


def of(found: Plan, name: str) -> Step:
    return next(step for step in found.steps if name_of(step.declaration) == name)


def test_a_new_policy_and_a_changed_one_are_set_in_place() -> None:
    step = of(planned(OWN), "q.policy")
    assert (step.verdict, step.action) == (Verdict.POLICY_ONLY, StepAction.SET)
    changed = of(planned(OWN, replace(OWN_POLICY, definition={"max-length": 5})), "q.policy")
    assert (changed.verdict, changed.action) == (Verdict.POLICY_ONLY, StepAction.SET)
    assert [str(it) for it in changed.differences] == ["max-length: is 5, wanted 9"]
    assert planned(OWN, OWN_POLICY).changes == ()


def test_the_queue_itself_does_not_change_with_its_policy() -> None:
    assert of(planned(OWN), "q").verdict is Verdict.NO_OP
    assert of(planned(OWN), "q").remarks == ()


def test_policies_come_after_queues_and_before_bindings() -> None:
    text = (
        "exchanges: {x: {}}\n"
        "queues: {q: {bind: [{from: x}], message_ttl: 1s, via_policy: [message_ttl]}}"
    )
    kinds = [step.to_dict()["kind"] for step in planned(text).steps]
    assert kinds == ["exchange", "queue", "policy", "binding"]


def test_a_policy_that_the_file_has_taken_back_is_removed_without_a_prune() -> None:
    text = "queues: {q: {}}"
    step = of(planned(text, OWN_POLICY), "q.policy")
    assert (step.verdict, step.action) == (Verdict.POLICY_ONLY, StepAction.DELETE)
    assert of(planned(text, OWN_POLICY), "q").remarks == ()


def test_somebody_s_policy_is_kept_even_by_a_prune() -> None:
    for prune in (False, True):
        step = of(planned(OWN, WIDE, prune=prune), "wide")
        assert (step.verdict, step.action) == (Verdict.NO_OP, StepAction.KEEP)


def test_a_masked_policy_is_named_with_its_keys() -> None:
    (remark,) = of(planned(OWN, WIDE), "q.policy").remarks
    assert remark == "it masks the policy 'wide', and takes along its ha-mode, expires"


def test_a_policy_that_brings_something_else_into_force_is_remarked() -> None:
    text = "queues: {q: {}, new: {}}"
    found = planned(text, WIDE, live="queues: {q: {}}")
    for name in ("q", "new"):
        assert of(found, name).remarks == (
            "expires in force: is 60000 (policy 'wide'), wanted not set",
        )
    assert [name_of(step.declaration) for step in found.remarked] == ["q"]
    assert [name_of(step.declaration) for step in found.changes] == ["new"]


def test_a_file_that_says_the_same_policy_has_no_remark() -> None:
    text = (
        "queues: {q: {}}\n"
        "policies: {wide: {pattern: '', priority: 3, definition: {ha-mode: all, expires: 60000}}}"
    )
    found = planned(text, WIDE)
    assert found.changes == found.remarked == ()


def test_what_a_policy_has_in_force_already_is_a_hint_beside_a_migration() -> None:
    limit = PolicyModel("limit", "", ApplyTo.ALL, 0, {"max-length": 9})
    text = "queues: {q: {max_length: 9, overflow: drop-head}}"
    bare = "queues: {q: {arguments: {x-overflow: drop-head}}}"
    step = of(planned(text, limit, live=bare), "q")
    assert step.verdict is Verdict.NEEDS_MIGRATION
    assert any("via_policy: [max_length]" in remark for remark in step.remarks)


def test_declarations_alone_say_nothing_of_policies() -> None:
    actual = replace(Snapshot.of("/", (Queue("q"),)), policies=(OWN_POLICY,), unseen=("x",))
    found = plan((Queue("q"),), actual)
    assert [name_of(step.declaration) for step in found.steps] == ["q"]
    assert found.unseen == ()
