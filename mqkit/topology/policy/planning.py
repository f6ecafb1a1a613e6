"""The policies of a plan, and the remarks about what is in force after it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mqkit.declaration import Queue
from mqkit.topology.planning.diff import Change, ChangeKind, canonical, key_of
from mqkit.topology.planning.step import Step, StepAction, Verdict
from mqkit.topology.planning.wanted import Wanted
from mqkit.topology.policy.comparing import PolicySet, compare_policies, in_force_differences
from mqkit.topology.policy.in_force import best
from mqkit.topology.policy.keys import VIA_POLICY, argument_of
from mqkit.topology.policy.own import is_own, owner_of
from mqkit.topology.policy.policy_model import PolicyModel

if TYPE_CHECKING:
    from mqkit.topology.planning.pruning import Pruning
    from mqkit.topology.snapshot import Snapshot


def policy_steps(
    wanted: Wanted, actual: Snapshot, pruning: Pruning | None
) -> tuple[list[Step], list[Step]]:
    """The policies to set, or to remove from queues of the file; and those that the file says
    nothing about, which only a prune deletes."""
    in_place, others = [], []
    for change in compare_policies(wanted, actual):
        policy = change.declaration
        assert isinstance(policy, PolicyModel)
        if change.kind is not ChangeKind.EXTRA:
            in_place.append(_set(change, policy, wanted, actual))
        elif is_left_over(policy, wanted):
            reason = "no key of the queue is in via_policy any more"
            in_place.append(Step(Verdict.POLICY_ONLY, StepAction.DELETE, policy, reason))
        else:
            others.append(_other(policy, pruning))
    return in_place, others


def is_left_over(policy: PolicyModel, wanted: Wanted) -> bool:
    """True for a policy of a queue's own where the file has the queue, and no policy for it."""
    return is_own(policy) and policy.name in wanted.own_policies


def policies_after(wanted: Wanted, actual: Snapshot) -> list[PolicyModel]:
    """The broker's policies after an apply without a prune."""
    ours = {policy.name for policy in wanted.policies}
    return [
        *wanted.policies,
        *(it for it in actual.policies if it.name not in ours and not is_left_over(it, wanted)),
    ]


def with_remarks(steps: Sequence[Step], wanted: Wanted, actual: Snapshot) -> list[Step]:
    """The steps, with what will be in force otherwise than the file says, and by whose policy."""
    live = {key_of(declaration): declaration for declaration in actual.declarations}
    ours = PolicySet(wanted.policies)
    after = PolicySet(policies_after(wanted, actual), actual.operator_policies)
    now = PolicySet(actual.policies, actual.operator_policies)
    remarked = []
    for step in steps:
        desired = step.declaration
        if isinstance(desired, PolicyModel) or step.verdict is Verdict.REFUSED:
            remarked.append(step)
            continue
        there = live.get(key_of(desired), desired)
        found = in_force_differences(desired, ours, there, after, step.differences)
        remarks = [*map(str, found), *_hints(step, now, there)]
        remarked.append(replace(step, remarks=(*step.remarks, *remarks)))
    return remarked


def _set(change: Change, policy: PolicyModel, wanted: Wanted, actual: Snapshot) -> Step:
    if change.kind is ChangeKind.SAME:
        reason = "it is there already, and the same"
        return Step(Verdict.NO_OP, StepAction.KEEP, policy, reason)
    masked = _masked(policy, wanted, actual)
    remarks = []
    if masked is not None:
        keys = ", ".join(masked.definition)
        remarks.append(f"it masks the policy {masked.name!r}, and takes along its {keys}")
    if change.kind is ChangeKind.MISSING:
        reason = "it is not there; set over the management API"
    else:
        reason = "it is there otherwise; changed in place, over the management API"
    return Step(
        *(Verdict.POLICY_ONLY, StepAction.SET, policy, reason, change.differences),
        remarks=tuple(remarks),
    )


def _masked(policy: PolicyModel, wanted: Wanted, actual: Snapshot) -> PolicyModel | None:
    """The policy that would apply to a queue without ``policy``, which is its own."""
    if not is_own(policy) or policy.name not in wanted.own_policies:
        return None
    owner = ("queue", owner_of(policy))
    queue = next((it for it in wanted.declarations if key_of(it) == owner), None)
    others = [it for it in policies_after(wanted, actual) if it.name != policy.name]
    return best(others, queue) if isinstance(queue, Queue) else None


def _other(policy: PolicyModel, pruning: Pruning | None) -> Step:
    kept = Step(Verdict.NO_OP, StepAction.KEEP, policy, "it is not in the file; kept")
    if pruning is None:
        return kept
    judged = pruning.of(policy)
    if not judged.goes:
        return replace(kept, reason=judged.reason)
    action = StepAction.FORCE_DELETE if judged.forced else StepAction.DELETE
    return replace(kept, verdict=Verdict.DESTRUCTIVE, action=action, reason=judged.reason)


def _hints(step: Step, now: PolicySet, there: object) -> list[str]:
    """Advice where a policy has in force already what an argument can't change any more."""
    if step.action is not StepAction.MIGRATE or not isinstance(there, Queue):
        return []
    settings = now.settings_on(there)
    hints = []
    for difference in step.differences:
        listed = [
            (name, key)
            for name, keys in VIA_POLICY.items()
            for key in keys
            if argument_of(key) == difference.field and key in settings
        ]
        for name, key in listed:
            setting = settings[key]
            if difference.actual is None and canonical(setting.value) == canonical(
                difference.desired
            ):
                hints.append(
                    f"{setting.source} has this {key} in force already: with"
                    f" via_policy: [{name}] nothing would have to be migrated"
                )
    return hints
