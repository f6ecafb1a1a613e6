"""Makes a sequence that shows a difference shorter, as long as it shows one.

Hypothesis' own shrinking runs a sequence thousands of times; a run on two brokers that turns out
different takes seconds. Here it is some runs per operation: each is left out, or made simpler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from interop.differential.operation import Call, Operation, Publish, Sequence
from mqkit.wire import Properties

Differs = Callable[[Sequence], bool]


def shortened(sequence: Sequence, differs: Differs) -> Sequence:
    """A sequence for which ``differs`` is true as it is for this one, and stays so for no shorter.

    ``differs`` runs it; it is asked again until nothing more can go.
    """
    best = _without_runs(sequence, differs)
    while (shorter := _shorter(best, differs)) is not None:
        best = shorter
    return best


def _without_runs(sequence: Sequence, differs: Differs) -> Sequence:
    """Leaves out as many neighbours at once as it can: halves, quarters, and so on."""
    operations = sequence.operations
    size = len(operations) // 2
    while size > 1:
        at = len(operations)
        while at > 0:
            start = max(0, at - size)
            fewer = (*operations[:start], *operations[at:])
            if differs(replace(sequence, operations=fewer)):
                operations = fewer
            at = start
        size //= 2
    return replace(sequence, operations=operations)


def _shorter(sequence: Sequence, differs: Differs) -> Sequence | None:
    """The result of one pass from the end to the start; ``None`` where all of it is needed."""
    operations = sequence.operations
    for at in reversed(range(len(operations))):
        for instead in _candidates(operations[at]):
            fewer = (*operations[:at], *instead, *operations[at + 1 :])
            if differs(replace(sequence, operations=fewer)):
                operations = fewer
                break
    return replace(sequence, operations=operations) if operations != sequence.operations else None


def _candidates(operation: Operation) -> Iterator[tuple[Operation, ...]]:
    """Replacements for an operation: nothing, or a simpler one."""
    yield ()
    match operation:
        case Publish():
            plain = replace(operation, properties=Properties(), size=0, count=1)
            if plain != operation:
                yield (plain,)
            for name, value in _fields(operation.properties):
                if value is not None:
                    properties = replace(operation.properties, **{name: None})
                    yield (replace(operation, properties=properties),)
        case Call(method=method) if arguments := getattr(method, "arguments", None):
            for name in arguments:
                left = {key: value for key, value in arguments.items() if key != name}
                yield (replace(operation, method=_with_arguments(method, left)),)


def _fields(properties: Properties) -> list[tuple[str, Any]]:
    return [(name, getattr(properties, name)) for name in Properties.__slots__]


def _with_arguments(method: Any, arguments: dict[str, Any]) -> Any:
    return replace(method, arguments=arguments)
