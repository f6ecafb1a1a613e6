"""Is this a policy? RabbitMQ's answer, in its words: a line for each of the parts that is wrong.

A definition is looked at key by key, in order of their names, up to the first bad value; unknown
keys are told, all of them, when the values of the known ones are right.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from reference_broker.core.base.erlang_term import erlang_term
from reference_broker.core.base.pattern import BadPattern, Pattern
from reference_broker.core.policy.mirroring_keys import mirroring_fault
from reference_broker.core.policy.policy import ApplyTo, PolicyKind
from reference_broker.core.policy.policy_keys import POLICY_KEYS
from reference_broker.errors import ReferenceBrokerError

NAME_BYTES_MAX = 255
"""Of a policy's name: as long as any other name."""


DEFINITION_BYTES_MAX = 64 * 1024
"""Of a definition as JSON: only a list of nodes could make it longer."""


class PolicyRefused(ReferenceBrokerError):
    """It can't be set; ``faults`` are RabbitMQ's texts, one or more."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


class PolicyWish(NamedTuple):
    """A valid policy that is not set yet."""

    pattern: Pattern
    apply_to: ApplyTo
    definition: Mapping[str, Any]
    priority: float

    @classmethod
    def parse(cls, kind: PolicyKind, name: str, value: Mapping[str, Any]) -> PolicyWish:
        """Of the JSON object that a client sends: ``pattern``, ``definition``, ``priority`` (0 if
        absent), ``apply-to`` (all if absent). Raises :exc:`PolicyRefused`."""
        faults = []
        if len(name.encode(errors="surrogatepass")) > NAME_BYTES_MAX:
            faults.append(f"a policy's name is at most {NAME_BYTES_MAX} bytes long")
        definition = value.get("definition")
        fault = _definition_fault(kind, definition)
        if fault is not None:
            faults.append(fault)
        apply_to = value.get("apply-to", ApplyTo.ALL)
        if apply_to not in list(ApplyTo):
            shown = apply_to if isinstance(apply_to, str) else erlang_term(apply_to)
            faults.append(
                f"apply-to '{shown}' unrecognised; should be one of: 'queues', 'classic_queues', "
                " 'quorum_queues', 'streams', 'exchanges', or 'all'"
            )
        pattern = _pattern(value.get("pattern"), faults)
        priority = value.get("priority", 0)
        if not _is_number(priority):
            faults.append(f"priority should be a number, actually was {erlang_term(priority)}")
        if faults:
            raise PolicyRefused(faults)
        assert pattern is not None
        assert definition is not None
        return cls(pattern, ApplyTo(apply_to), dict(definition), priority)


def _pattern(text: Any, faults: list[str]) -> Pattern | None:
    if not isinstance(text, str):
        faults.append(f"pattern should be a binary but was {erlang_term(text)}")
        return None
    try:
        return Pattern(text)
    except BadPattern as error:
        faults.append(f"pattern should be regular expression but is invalid: {error}")
        return None


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _definition_fault(kind: PolicyKind, definition: Any) -> str | None:
    if not isinstance(definition, dict):
        return f"definition must be a dictionary: {erlang_term(definition)}"
    if not definition:
        return "no policy provided"
    unknown = []
    for key in sorted(definition):
        value, known = definition[key], POLICY_KEYS.get(key)
        if known is None or (kind is PolicyKind.OPERATOR and not known.of_operators):
            unknown.append(f"{{{erlang_term(key)},{erlang_term(value)}}}")
        elif not known.valid(value):
            return f"{erlang_term(value)} {known.fault}"
    if len(json.dumps(definition)) > DEFINITION_BYTES_MAX:
        return f"a definition is at most {DEFINITION_BYTES_MAX} bytes of JSON"
    if kind is PolicyKind.USER and (fault := mirroring_fault(definition)) is not None:
        return fault
    if unknown:
        return f"[{','.join(unknown)}] are not recognised policy settings"
    return None
