"""Policies of a file beside those of a broker, and what is in force by them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mqkit.declaration import Declaration, Exchange, Queue
from mqkit.topology.planning.diff import Change, ChangeKind, Difference, canonical, diff, key_of
from mqkit.topology.planning.wanted import Wanted
from mqkit.topology.policy.in_force import Applying, Setting, best, settings_in_force
from mqkit.topology.policy.keys import argument_of
from mqkit.topology.policy.policy_model import PolicyModel

if TYPE_CHECKING:
    from mqkit.topology.snapshot import Snapshot

NOT_SET = Setting(None, "")


class PolicySet(NamedTuple):
    """Policies that are on a broker together."""

    policies: Sequence[PolicyModel] = ()
    operator_policies: Sequence[PolicyModel] = ()

    def settings_on(self, declaration: Queue | Exchange) -> dict[str, Setting]:
        """The settings in force on the object by its arguments and these policies."""
        applying = Applying(
            best(self.policies, declaration), best(self.operator_policies, declaration)
        )
        return settings_in_force(declaration, applying)


def compare(wanted: Wanted, actual: Snapshot) -> tuple[Change, ...]:
    """Each object of the file, then what the broker has besides: like
    :func:`~mqkit.topology.planning.diff.diff`, with policies.

    An object whose arguments are as wanted is different, too, where a policy has something else in
    force.
    """
    live = {key_of(declaration): declaration for declaration in actual.declarations}
    ours = PolicySet(wanted.policies)
    theirs = PolicySet(actual.policies, actual.operator_policies)
    changes = []
    for change in diff(wanted.declarations, actual):
        declared = live.get(key_of(change.declaration))
        if change.kind is ChangeKind.EXTRA or declared is None:
            changes.append(change)
            continue
        found = in_force_differences(change.declaration, ours, declared, theirs, change.differences)
        differences = (*change.differences, *found)
        kind = ChangeKind.DIFFERENT if differences else ChangeKind.SAME
        changes.append(Change(kind, change.declaration, differences))
    return (*changes, *compare_policies(wanted, actual))


def compare_policies(wanted: Wanted, actual: Snapshot) -> Iterator[Change]:
    """The policies of the file in its order, then what the broker has besides."""
    live = {policy.name: policy for policy in actual.policies}
    for policy in wanted.policies:
        is_ = live.pop(policy.name, None)
        if is_ is None:
            yield Change(ChangeKind.MISSING, policy)
            continue
        differences = policy_differences(policy, is_)
        kind = ChangeKind.DIFFERENT if differences else ChangeKind.SAME
        yield Change(kind, policy, differences)
    for policy in live.values():
        yield Change(ChangeKind.EXTRA, policy)


def policy_differences(desired: PolicyModel, actual: PolicyModel) -> tuple[Difference, ...]:
    """The properties, and the keys of the definition, that are not as wanted."""
    found = [
        Difference(field, _plain(getattr(desired, field)), _plain(getattr(actual, field)))
        for field in ("pattern", "apply_to", "priority")
        if getattr(desired, field) != getattr(actual, field)
    ]
    for key in dict.fromkeys((*desired.definition, *actual.definition)):
        wanted, is_ = desired.definition.get(key), actual.definition.get(key)
        if canonical(wanted) != canonical(is_):
            found.append(Difference(key, wanted, is_))
    return tuple(found)


def in_force_differences(
    desired: Declaration | PolicyModel,
    wanted_policies: PolicySet,
    actual: Declaration | PolicyModel,
    policies: PolicySet,
    already_said: Sequence[Difference] = (),
) -> Iterator[Difference]:
    """The settings that are in force on ``actual`` otherwise than the file says, by whose policy.

    What ``already_said`` has, a difference of declarations, is not told again.
    """
    if not isinstance(desired, Queue | Exchange) or not isinstance(actual, Queue | Exchange):
        return
    said = {difference.field for difference in already_said}
    wanted, live = wanted_policies.settings_on(desired), policies.settings_on(actual)
    for key in dict.fromkeys((*wanted, *live)):
        should, is_ = wanted.get(key, NOT_SET), live.get(key, NOT_SET)
        if argument_of(key) not in said and canonical(should.value) != canonical(is_.value):
            yield Difference(f"{key} in force", should.value, is_.value, is_.source)


def _plain(value: object) -> object:
    return str(value) if isinstance(value, str) else value
