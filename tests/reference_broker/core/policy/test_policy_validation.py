"""Policies are validated, and refused in RabbitMQ's words."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.core.policy.policy import ApplyTo, PolicyKind
from reference_broker.core.policy.policy_validation import (
    DEFINITION_BYTES_MAX,
    NAME_BYTES_MAX,
    PolicyRefused,
    PolicyWish,
)

LIMIT = {"max-length": 5}


def wish(value: Any, kind: PolicyKind = PolicyKind.USER, name: str = "p") -> PolicyWish:
    return PolicyWish.parse(kind, name, value)


def faults(value: Any, kind: PolicyKind = PolicyKind.USER, name: str = "p") -> list[str]:
    with pytest.raises(PolicyRefused) as refusal:
        wish(value, kind, name)
    return refusal.value.faults


def test_what_is_left_out() -> None:
    parsed = wish({"pattern": "^q", "definition": LIMIT, "vhost": "/", "name": "other"})
    assert (parsed.pattern.text, parsed.apply_to, parsed.definition, parsed.priority) == (
        "^q",
        ApplyTo.ALL,
        LIMIT,
        0,
    )


@pytest.mark.parametrize("apply_to", list(ApplyTo))
def test_what_it_is_for(apply_to: str) -> None:
    assert wish({"pattern": "", "definition": LIMIT, "apply-to": apply_to}).apply_to == apply_to


@pytest.mark.parametrize("priority", [-5, 1.5, 10**30])
def test_any_number_is_a_priority(priority: float) -> None:
    assert wish({"pattern": "", "definition": LIMIT, "priority": priority}).priority == priority


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"pattern": 5}, "pattern should be a binary but was 5"),
        (
            {"pattern": "("},
            "pattern should be regular expression but is invalid: missing ): (",
        ),
        ({"priority": "7"}, 'priority should be a number, actually was <<"7">>'),
        ({"priority": True}, "priority should be a number, actually was true"),
        ({"priority": None}, "priority should be a number, actually was null"),
        ({"priority": float("nan")}, "priority should be a number, actually was nan"),
        (
            {"apply-to": "x"},
            "apply-to 'x' unrecognised; should be one of: 'queues', 'classic_queues', "
            " 'quorum_queues', 'streams', 'exchanges', or 'all'",
        ),
        ({"definition": {}}, "no policy provided"),
        ({"definition": 5}, "definition must be a dictionary: 5"),
        ({"definition": []}, "definition must be a dictionary: []"),
        ({"definition": {"max-length": -1}}, "-1 is not a valid maximum length"),
        (
            {"definition": {"b": 1, "max-length": 1, "a": "x"}},
            '[{<<"a">>,<<"x">>},{<<"b">>,1}] are not recognised policy settings',
        ),
        ({"definition": {"max-length": -1, "expires": 0}}, "0 is not a valid queue expiry"),
        ({"definition": {"max-length": -1, "foo": 0}}, "-1 is not a valid maximum length"),
        ({"definition": {"queue-master-locator": "x"}},
         '<<"x">> invalid queue-master-locator value'),
        ({"definition": {"ha-mode": "x"}}, '<<"x">> is not a valid ha-mode value'),
        (
            {"definition": {"x-max-length": 5}},
            '[{<<"x-max-length">>,5}] are not recognised policy settings',
        ),
    ],
)  # fmt: skip
def test_refused(value: dict[str, Any], fault: str) -> None:
    assert faults({"pattern": "", "definition": LIMIT, **value}) == [fault]


def test_every_part_has_its_line() -> None:
    value = {"pattern": "(", "definition": {"max-length": -1}, "priority": "a", "apply-to": 5}
    found = faults(value)
    assert [fault.split()[0] for fault in found] == ["-1", "apply-to", "pattern", "priority"]


def test_operators_have_numbers_only() -> None:
    definition = {"overflow": "drop-head", "ha-mode": "all", "max-length": 5}
    assert faults({"pattern": "", "definition": definition}, PolicyKind.OPERATOR) == [
        '[{<<"ha-mode">>,<<"all">>},{<<"overflow">>,<<"drop-head">>}]'
        " are not recognised policy settings"
    ]


def test_bounds() -> None:
    value = {"pattern": "", "definition": LIMIT}
    wish(value, name="n" * NAME_BYTES_MAX)
    assert faults(value, name="n" * (NAME_BYTES_MAX + 1)) == [
        "a policy's name is at most 255 bytes long"
    ]
    nodes = {"ha-mode": "nodes", "ha-params": ["n" * DEFINITION_BYTES_MAX]}
    assert faults({"pattern": "", "definition": nodes}) == [
        f"a definition is at most {DEFINITION_BYTES_MAX} bytes of JSON"
    ]
