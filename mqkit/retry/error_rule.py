"""A retry rule for one kind of exception. Pure.

A rule names its class as text, since a topology file can't import it: by ``__name__``
(``TimeoutError``), or by module and ``__qualname__`` (``shop.errors.InvalidAddress``). It holds for
subclasses too. Of several rules the one whose class comes first in the exception's method
resolution order is taken, and of two for the same class the one with the longer name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mqkit.errors import ConfigurationError
from mqkit.retry.then import Then
from mqkit.retry.waiting_times import checked, parsed

LOCAL = "<locals>"
"""The part of a ``__qualname__`` that stands for a function's own scope."""


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """``response``: waiting times of its own in milliseconds, or the end that comes at once.

    Raises :exc:`~mqkit.errors.ConfigurationError` for what can't be the name of a class, and for
    waiting times that can't be kept.
    """

    name: str
    response: tuple[int, ...] | Then

    def __post_init__(self) -> None:
        if not all(part.isidentifier() or part == LOCAL for part in self.name.split(".")):
            raise ConfigurationError(
                f"{self.name!r} is not the name of an exception class (expected one like"
                " TimeoutError, or with its module: shop.errors.InvalidAddress)"
            )
        if not isinstance(self.response, Then):
            checked(self.response)

    @classmethod
    def of(cls, error: str | type, response: str | Sequence[str]) -> ErrorRule:
        """The rule of ``error``, a class or its name. ``response`` is ``"park"``, ``"drop"``, or
        waiting times like ``["1s", "5s"]``."""
        if not isinstance(error, (str, type)):
            raise ConfigurationError(f"{error!r} is neither an exception class nor its name")
        name = error if isinstance(error, str) else _whole_name(error)
        if not isinstance(response, str):
            return cls(name, parsed(response))
        if response not in set(map(str, Then)):
            raise ConfigurationError(
                f"the rule of {name} says {response!r}: expected 'park', 'drop', or a list of"
                " waiting times like ['1s', '5s']"
            )
        return cls(name, Then(response))

    @property
    def after(self) -> tuple[int, ...]:
        """The waiting times of the rule's own; none where the end comes at once."""
        return () if isinstance(self.response, Then) else self.response


def rule_for(rules: Iterable[ErrorRule], error: type[BaseException]) -> ErrorRule | None:
    """The rule for exceptions of the class ``error``; ``None`` if it has none."""
    by_name = {rule.name: rule for rule in rules}
    found = (by_name[name] for name in _names_of(error) if name in by_name)
    return next(found, None)


def unknown_names(
    rules: Iterable[ErrorRule], unasked: tuple[type[BaseException], ...] = ()
) -> tuple[str, ...]:
    """The names of ``rules`` that no exception class of the running program has, nor a base of one.

    Classes that are not imported yet are not seen. ``unasked`` are classes that rules are never
    asked about; they and their subclasses don't count.
    """
    known: set[str] = set()
    for error in _loaded():
        if not issubclass(error, unasked):
            known.update(_names_of(error))
    return tuple(rule.name for rule in rules if rule.name not in known)


def _names_of(error: type[BaseException]) -> Iterator[str]:
    """The names of the class and of its bases, nearest first."""
    for kind in error.__mro__[:-1]:  # the last one is object
        yield _whole_name(kind)
        yield kind.__name__


def _whole_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _loaded() -> set[type[BaseException]]:
    found: set[type[BaseException]] = set()
    waiting: list[type[BaseException]] = [BaseException]
    while waiting:
        error = waiting.pop()
        if error not in found:
            found.add(error)
            waiting.extend(error.__subclasses__())
    return found
