"""The differences between a topology file and a broker. Pure: two sets of declarations in, changes
out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.topology.policy.policy_model import PolicyModel

if TYPE_CHECKING:
    from mqkit.topology.snapshot import Snapshot

Key: TypeAlias = tuple[str, ...]


class ChangeKind(StrEnum):
    """The results of comparing one object."""

    SAME = "same"
    MISSING = "missing"
    DIFFERENT = "different"
    EXTRA = "extra"
    UNSEEN = "unseen"
    """It can't be asked about: over AMQP alone, bindings and policies can't."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One property that is not as wanted; ``None`` for an argument that one side has not.

    ``source`` says where a setting that is in force comes from: an argument or a policy.
    """

    field: str
    desired: Any
    actual: Any
    source: str = ""

    def __str__(self) -> str:
        by = f" ({self.source})" if self.source else ""
        return f"{self.field}: is {_show(self.actual)}{by}, wanted {_show(self.desired)}"

    def to_dict(self) -> dict[str, Any]:
        """The difference as plain values, for ``--json``."""
        said = {"field": self.field, "desired": self.desired, "actual": self.actual}
        return {**said, "source": self.source} if self.source else said


@dataclass(frozen=True, slots=True)
class Change:
    """One object, compared. ``declaration`` is the wanted one, or for an extra the live one."""

    kind: ChangeKind
    declaration: Declaration | PolicyModel
    differences: tuple[Difference, ...] = ()


def diff(desired: Sequence[Declaration], actual: Snapshot) -> tuple[Change, ...]:
    """Each desired object in its order, then what the broker has besides.

    Declarations only: :func:`~mqkit.topology.policy.comparing.compare` sees policies, too.

    An exclusive queue that nobody asked for belongs to some connection, and is not an extra; nor
    are its bindings.
    """
    live = {key_of(declaration): declaration for declaration in actual.declarations}
    wanted = {key_of(declaration): declaration for declaration in desired}
    changes = [_compare(declaration, live.get(key)) for key, declaration in wanted.items()]
    private = {
        entry.queue.name
        for entry in actual.queues
        if entry.queue.exclusive and key_of(entry.queue) not in wanted
    }
    changes += [
        Change(ChangeKind.EXTRA, declaration)
        for key, declaration in live.items()
        if key not in wanted and not _is_private(declaration, private)
    ]
    return tuple(changes)


def key_of(declaration: Declaration | PolicyModel) -> Key:
    """The identity of a declared object: equal for two declarations of the same one."""
    match declaration:
        case Exchange(name=name):
            return ("exchange", name)
        case Queue(name=name):
            return ("queue", name)
        case PolicyModel(name=name):
            return ("policy", name)
        case Binding(source=source, destination=destination, key=key, arguments=arguments):
            to = "exchange" if declaration.to_exchange else "queue"
            return ("binding", source, to, destination, key, canonical(arguments))


def differences_between(desired: Declaration, actual: Declaration) -> tuple[Difference, ...]:
    """The properties of ``desired`` that a broker would refuse to change on ``actual``.

    ``x-queue-type: classic`` is the same as no type at all: so RabbitMQ compares them [run on
    3.10], and since 4.0 it writes the type out by itself.
    """
    found: list[Difference] = []
    for field in ("type", "durable", "exclusive", "auto_delete", "internal"):
        wanted, is_ = getattr(desired, field, None), getattr(actual, field, None)
        if wanted != is_:
            found.append(Difference(field, wanted, is_))
    wanted_arguments, live_arguments = _arguments(desired), _arguments(actual)
    for name in dict.fromkeys((*wanted_arguments, *live_arguments)):
        wanted, is_ = wanted_arguments.get(name), live_arguments.get(name)
        if canonical(wanted) != canonical(is_):
            found.append(Difference(name, wanted, is_))
    return tuple(found)


def canonical(value: Any) -> str:
    """Text that is equal for equal field-table values: ``1`` and ``1.0`` are, ``1`` and true
    not."""
    return json.dumps(_plain(value), sort_keys=True, default=repr)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


def _compare(desired: Declaration, actual: Declaration | None) -> Change:
    if actual is None:
        return Change(ChangeKind.MISSING, desired)
    differences = () if isinstance(desired, Binding) else differences_between(desired, actual)
    return Change(ChangeKind.DIFFERENT if differences else ChangeKind.SAME, desired, differences)


def _arguments(declaration: Declaration) -> dict[str, Any]:
    arguments = dict(declaration.arguments)
    if isinstance(declaration, Queue) and arguments.get("x-queue-type") == "classic":
        del arguments["x-queue-type"]
    return arguments


def _is_private(declaration: Declaration, private: Iterable[str]) -> bool:
    match declaration:
        case Queue(name=name):
            return name in private
        case Binding(destination=name, to_exchange=False):
            return name in private
        case _:
            return False


def _show(value: Any) -> str:
    return "not set" if value is None else repr(value)
