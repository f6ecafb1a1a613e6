"""The resources that a handler needs, read from signatures when it is registered. Pure."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from mqkit.errors import ConfigurationError
from mqkit.message import Delivery
from mqkit.resources.dependency import Dependency, Scope


@dataclass(frozen=True, slots=True)
class Needs:
    """The resources that one function takes, by the names of its arguments; and the name of the
    argument that takes the delivery, if one does."""

    resources: Mapping[str, Dependency]
    delivery: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The needs of a handler, and of all that it needs."""

    handler: Needs
    of: Mapping[Dependency, Needs] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self.handler.resources

    @classmethod
    def read(cls, function: Callable[..., Any], name: str, *, has_delivery: bool = True) -> Plan:
        """The plan of a handler called ``name``. ``has_delivery``: it is called for one message.

        Raises :exc:`~mqkit.errors.ConfigurationError` for an argument that nobody could give.
        """
        needs = Needs(_resources(function, name))
        of: dict[Dependency, Needs] = {}
        for dependency in needs.resources.values():
            _read_all(dependency, of, has_delivery=has_delivery)
        return cls(needs, of)


def _read_all(dependency: Dependency, of: dict[Dependency, Needs], *, has_delivery: bool) -> None:
    if dependency in of:
        return
    name = dependency.name
    resources = _resources(dependency.function, name)
    of[dependency] = Needs(resources, _delivery(dependency, has_delivery=has_delivery))
    for needed in resources.values():
        if dependency.scope is Scope.APP and needed.scope is not Scope.APP:
            raise ConfigurationError(
                f"{name} is a resource of the app and needs {needed.name}, which ends with each"
                ' message: give that scope="app", too'
            )
        _read_all(needed, of, has_delivery=has_delivery)


def _resources(function: Callable[..., Any], name: str) -> dict[str, Dependency]:
    found: dict[str, Dependency] = {}
    for parameter in _parameters(function):
        if isinstance(parameter.default, Dependency):
            if parameter.kind is parameter.POSITIONAL_ONLY:
                raise ConfigurationError(
                    f"the argument {parameter.name!r} of {name} is a resource, which is given by"
                    " its name: take the / out of the signature"
                )
            found[parameter.name] = parameter.default
    return found


def _delivery(dependency: Dependency, *, has_delivery: bool) -> str | None:
    """The name of the one argument without a default, which has to be a delivery."""
    required = [
        parameter.name
        for parameter in _parameters(dependency.function)
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if not required:
        return None
    name = dependency.name
    if len(required) > 1 or _hints(dependency.function, name).get(required[0]) is not Delivery:
        raise ConfigurationError(
            f"{name} takes {', '.join(map(repr, required))}: a resource can take other resources"
            " (as default values, by depends) and one argument that is annotated Delivery"
        )
    if dependency.scope is Scope.APP:
        raise ConfigurationError(f"{name} is a resource of the app, and no Delivery is the app's")
    if not has_delivery:
        raise ConfigurationError(f"{name} takes a Delivery, and a batch has many")
    return required[0]


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some of those written in C have none that can be read
        return []


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    target: Any = function
    if not (inspect.isroutine(target) or inspect.isclass(target)):
        target = target.__call__
    if inspect.isclass(target):
        target = target.__init__
    try:
        return get_type_hints(target)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise ConfigurationError(f"an annotation of {name} can't be resolved: {error}") from None
