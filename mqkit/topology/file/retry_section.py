"""The reader of ``retry:``: waiting times as a list or as growth, rules by exception, the end, the
names of its lot and tiers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ParamSpec, TypeVar

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import MAX_DURATION_MS
from mqkit.retry.error_rule import ErrorRule
from mqkit.retry.growth import MAX_FACTOR, MAX_JITTER, Growth
from mqkit.retry.names import RetryNames
from mqkit.retry.policy import RetryPolicy
from mqkit.retry.then import Then
from mqkit.retry.waiting_times import MAX_WAITING_TIMES, checked
from mqkit.topology.file.document import MappingNode, Node, ScalarNode, SequenceNode
from mqkit.topology.file.fault import Fault
from mqkit.topology.file.section import Section

GROWTH_KEYS = ("from", "factor", "most", "times", "jitter")
NAME_KEYS = ("park", "tiers")
RETRY_KEYS = ("after", *GROWTH_KEYS, "errors", "give_up_after", "then", *NAME_KEYS)
TIMES = "waiting times like [1s, 5s, 30s]"

ValueT = TypeVar("ValueT")
ParamsT = ParamSpec("ParamsT")


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in the file, to blame for what is made of it."""

    faults: list[Fault]
    line: int
    path: str

    @classmethod
    def of(cls, part: Section, key: str) -> _Place:
        return cls(part.faults, part.line_of(key), part.child(key))

    def make(
        self, kind: Callable[ParamsT, ValueT], *args: ParamsT.args, **named: ParamsT.kwargs
    ) -> ValueT | None:
        """The value, or ``None`` and a fault if it refuses its arguments."""
        try:
            return kind(*args, **named)
        except ConfigurationError as error:
            self.faults.append(Fault(self.line, self.path, str(error)))
            return None


def read_retry(section: Section) -> RetryPolicy | None:
    """The retry policy of a queue; ``None`` if it has none, or one with a fault."""
    node = section.node("retry")
    if node is None:
        return None
    part = Section(node, section.child("retry"), RETRY_KEYS, section.faults)
    before = len(part.faults)
    then = part.choice("then", Then) or Then.PARK
    waits = _waits(part)
    errors = _errors(part)
    give_up_after_ms = part.duration("give_up_after", 1)
    names = _names(part)
    if waits is None or len(part.faults) > before:
        return None
    place = _Place(part.faults, part.line, part.path)
    policy = place.make(RetryPolicy, waits[0], then, errors, waits[1])
    if policy is not None and give_up_after_ms is not None:
        place = _Place.of(part, "give_up_after")
        policy = place.make(replace, policy, give_up_after_ms=give_up_after_ms)
    if policy is not None and names.tiers is not None:
        place = _Place.of(part, "tiers")
        policy = place.make(replace, policy, names=RetryNames(tiers=names.tiers))
    if policy is not None and names.park is not None:
        policy = _Place.of(part, "park").make(replace, policy, names=names)
    return policy


def lines_of_names(section: Section) -> dict[str, int]:
    """The lines of the queue's ``retry.park`` and ``retry.tiers``, as far as they are there."""
    node = section.node("retry")
    if not isinstance(node, MappingNode):
        return {}
    return {f"retry.{it.key}": it.line for it in node.entries if it.key in NAME_KEYS}


def _names(part: Section) -> RetryNames:
    """The names that the policy gives; those that can be none are faults, and left out."""
    tiers = _Place.of(part, "tiers").make(RetryNames, tiers=part.text("tiers"))
    park = _Place.of(part, "park").make(RetryNames, park=part.text("park"))
    return RetryNames(park.park if park else None, tiers.tiers if tiers else None)


def _waits(part: Section) -> tuple[tuple[int, ...], Growth | None] | None:
    """The policy's own waiting times, by the one of two spellings that is there."""
    grown = [key for key in GROWTH_KEYS if part.has(key)]
    if part.has("after"):
        for key in grown:
            message = (
                "beside 'after': say the waiting times either as a list ('after: [1s, 5s]') or by"
                " how they grow ('from: 1s, factor: 2, most: 5m, times: 8')"
            )
            part.faults.append(Fault(part.line_of(key), part.child(key), message))
        node = part.node("after")
        assert node is not None
        after = _times(part, node, part.child("after"), _Place.of(part, "after"))
        return None if after is None else (after, None)
    if grown:
        growth = _growth(part)
        return None if growth is None else (growth.after, growth)
    if part.is_mapping:
        message = f"'after' is missing (expected {TIMES}, or 'from' and 'times')"
        part.faults.append(Fault(part.line, part.path, message))
    return None


def _growth(part: Section) -> Growth | None:
    for key, expected in (
        ("from", "the first waiting time, like 'from: 1s'"),
        ("times", f"the number of retries, 1 to {MAX_WAITING_TIMES}"),
    ):
        if not part.has(key):
            message = f"{key!r} is missing (expected {expected})"
            part.faults.append(Fault(part.line, part.path, message))
    from_ms = part.duration("from", 1)
    times = part.count("times", 1, MAX_WAITING_TIMES)
    factor = part.number("factor", 1, MAX_FACTOR)
    most_ms = part.duration("most", 1)
    jitter = part.number("jitter", 0, MAX_JITTER)
    if from_ms is None or times is None:
        return None
    return _Place.of(part, "most").make(
        Growth,
        from_ms,
        times,
        2.0 if factor is None else factor,
        MAX_DURATION_MS if most_ms is None else most_ms,
        jitter or 0.0,
    )


def _errors(part: Section) -> tuple[ErrorRule, ...]:
    rules = []
    for path, entry in part.entries("errors", "exception names to waiting times, park or drop"):
        place = _Place(part.faults, entry.line, path)
        response = _response(part, entry.value, path, place)
        if response is not None and (rule := place.make(ErrorRule, entry.key, response)):
            rules.append(rule)
    return tuple(rules)


def _response(part: Section, node: Node, path: str, place: _Place) -> tuple[int, ...] | Then | None:
    """The value of a rule: ``park``, ``drop``, or a list of waiting times."""
    if isinstance(node, SequenceNode):
        return _times(part, node, path, place)
    if isinstance(node, ScalarNode) and node.value in set(map(str, Then)):
        return Then(str(node.value))
    part.fault(node.line, path, node, "park, drop, or a list of waiting times like [1s, 5s]")
    return None


def _times(part: Section, node: Node, path: str, place: _Place) -> tuple[int, ...] | None:
    """A list of waiting times that never fall."""
    if not isinstance(node, SequenceNode):
        part.fault(node.line, path, node, f"a list of {TIMES}")
        return None
    found = [part.duration_of(item, f"{path}[{at}]", 1) for at, item in enumerate(node.items)]
    known = tuple(after_ms for after_ms in found if after_ms is not None)
    return None if len(known) < len(found) else place.make(checked, known)
