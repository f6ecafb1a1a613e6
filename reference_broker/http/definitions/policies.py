"""The policies and parameters of a definitions file, in and out.

In a file, operator policies are among the ``parameters``, and policies have their virtual host even
where the file is of one alone (RabbitMQ). What is there already is overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from reference_broker.core.broker import Broker
from reference_broker.core.policy.global_parameters import (
    MAX_GLOBAL_PARAMETERS,
    GlobalParameterRefused,
    check_global_parameter,
)
from reference_broker.core.policy.policy import Policy, PolicyKind
from reference_broker.core.policy.policy_validation import PolicyRefused, PolicyWish
from reference_broker.core.vhost.policies import MAX_INSTRUCTIONS, MAX_POLICIES, too_dear
from reference_broker.core.vhost.vhost import VHost
from reference_broker.core.work.task import agreed, at_once
from reference_broker.http.definitions.access import LIMITS_COMPONENT
from reference_broker.http.definitions.file import (
    MADE_AT_ONCE,
    Faults,
    ItemFault,
    Making,
    Steps,
    rows,
    shown,
    text_of,
)
from reference_broker.http.policies.parameters import operator_policy_value
from reference_broker.http.policies.policies import policy_value
from reference_broker.http.request.answer import ApiError, Row

SECTIONS = ("policies", "parameters", "global_parameters")
"""The sections that are read here."""

INTERNAL = "internal"
"""Prefix of the global parameters that say which cluster wrote the file. RabbitMQ 3.10 exports its
``internal_cluster_id``; later ones leave them out. They are not taken."""


class _PolicyItem(NamedTuple):
    kind: PolicyKind
    vhost: str
    name: str
    wish: PolicyWish


class PolicyDefinitions:
    """Policies and parameters that a file wants: take the steps of :meth:`read`, ask for
    :attr:`faults`, and take those of :meth:`apply` if there are none. Nothing else may happen to
    the broker in between, but that the file's virtual hosts are made: ``vhosts`` has a stand-in for
    each of these. With ``vhost`` all policies go there. ``overtaken`` names what could not be set
    any more, since others have changed something all the same."""

    def __init__(self, vhost: str | None, vhosts: Mapping[str, VHost], broker: Broker) -> None:
        self.faults: Faults = []
        self.overtaken: Faults = []
        self.vhost_names: dict[str, None] = {}
        self._broker = broker
        self._vhost = vhost
        self._vhosts = vhosts
        self._policies: list[_PolicyItem] = []
        self._values: dict[str, Any] = {}

    def read(self, body: Row) -> Steps:
        """Read the sections of a file."""
        yield from self._read(body, "policies")
        yield from self._read(body, "parameters")
        yield from self._read_global(body)
        yield from _faults_of_number(self._policies, self._vhosts, self.faults)

    def apply(self) -> Making:
        """Set everything. Call it before queues are declared: then it costs them no second look."""
        yield from at_once((self._set(item) for item in self._policies), MADE_AT_ONCE)
        values = (self._set_value(*each) for each in self._values.items())
        yield from at_once(values, MADE_AT_ONCE)

    def _set(self, item: _PolicyItem) -> Making:
        vhost = self._broker.vhosts.get(item.vhost)
        if vhost is not None:  # somebody may have deleted it meanwhile
            try:
                yield from agreed(partial(vhost.policies.set, item.kind, item.name, item.wish))
            except PolicyRefused as refusal:  # beside what it is to replace
                self.overtaken.append(f"policy {item.name!r}: {refusal}")
        yield None

    def _set_value(self, name: str, value: Any) -> Making:
        try:
            yield from agreed(partial(self._broker.global_parameters.set, name, value))
        except GlobalParameterRefused as refusal:
            self.overtaken.append(f"global parameter {name!r}: {refusal}")
        yield None

    def _read(self, body: Row, section: str) -> Steps:
        read = _policy_of_row if section == "policies" else _policy_of_parameter
        for number, row in rows(body, section, self.faults):
            yield
            if row is None or row.get("component") == LIMITS_COMPONENT:
                continue  # access.py reads them
            label = shown(row["name"]) if isinstance(row.get("name"), str) else f"item {number}"
            try:
                vhost = text_of(row, "vhost") if self._vhost is None else self._vhost
                if vhost not in self._vhosts:
                    raise ItemFault(f"there is no vhost {vhost!r}")
                self._policies.append(read(row, vhost))
                self.vhost_names[vhost] = None
            except ItemFault as fault:
                self.faults.append(f"{section}, {label}: {fault}")
            except PolicyRefused as refusal:
                self.faults.append(f"{section}, {label}: {refusal}")
            except ApiError as refusal:
                self.faults.append(f"{section}, {label}: {refusal.reason}")

    def _read_global(self, body: Row) -> Steps:
        section = "global_parameters"
        for number, row in rows(body, section, self.faults):
            yield
            if row is None:
                continue
            try:
                name = text_of(row, "name")
                if "value" not in row:
                    raise ItemFault("value is missing")
                if not name.startswith(INTERNAL):
                    check_global_parameter(name, row["value"])
                    self._values[name] = row["value"]
            except (ItemFault, GlobalParameterRefused) as fault:
                self.faults.append(f"{section}, item {number}: {fault}")
        count = len({**dict(self._broker.global_parameters.items()), **self._values})
        if count > MAX_GLOBAL_PARAMETERS:
            self.faults.append(
                f"it would have {count} global parameters, and {MAX_GLOBAL_PARAMETERS} is the most"
            )


def _policy_of_row(row: Row, vhost: str) -> _PolicyItem:
    kind, name = PolicyKind.USER, text_of(row, "name")
    return _PolicyItem(kind, vhost, name, PolicyWish.parse(kind, name, row))


def _policy_of_parameter(row: Row, vhost: str) -> _PolicyItem:
    name = text_of(row, "name")
    value = operator_policy_value(text_of(row, "component"), name, row.get("value"))
    kind = PolicyKind.OPERATOR
    return _PolicyItem(kind, vhost, name, PolicyWish.parse(kind, name, value))


def _faults_of_number(
    items: Iterable[_PolicyItem], vhosts: Mapping[str, VHost], faults: Faults
) -> Steps:
    names: dict[tuple[PolicyKind, str], dict[str, int]] = {}
    for item in items:
        wanted = names.setdefault((item.kind, item.vhost), {})
        wanted[item.name] = item.wish.pattern.instructions
        yield
    for (kind, vhost), new in names.items():
        there = {
            policy.name: policy.pattern.instructions for policy in vhosts[vhost].policies.of(kind)
        }
        instructions = sum({**there, **new}.values())
        if instructions > max(MAX_INSTRUCTIONS, sum(there.values())):
            faults.append(f"vhost {vhost!r}: {too_dear(instructions)}")
        count = len({**there, **new})
        if count > MAX_POLICIES:
            faults.append(
                f"vhost {vhost!r}: it would have {count} policies of kind {kind.value},"
                f" and {MAX_POLICIES} is the most"
            )
        yield


# Out


def operator_policy_row(policy: Policy, vhost: str) -> Row:
    """An operator policy in the section ``parameters`` of a file."""
    return {
        "value": policy_value(policy),
        "vhost": vhost,
        "component": PolicyKind.OPERATOR.value,
        "name": policy.name,
    }
