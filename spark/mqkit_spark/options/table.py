"""Options by their two names: ``max_in_flight`` in Python, ``maxInFlight`` in Spark.

Spark hands options over as text with lower-cased names; they are matched without regard to case. An
option that is not known is an error, because Spark itself accepts any.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, TypeVar

from mqkit.errors import ConfigurationError

Reader = Callable[[str], Any]
Options = TypeVar("Options")

OF_TABLES = frozenset(
    {"collation", "comment", "external", "is_managed_location", "location", "owner", "provider"}
)
"""Names that ``CREATE TABLE ... USING amqp`` adds to the options: the table's own properties."""

OF_TABLES_PREFIX = "option."
"""The same hands the options of the statement over with this in front."""


def option_name(name: str) -> str:
    """``max_in_flight`` as Spark users write it: ``maxInFlight``; seconds go without a unit."""
    first, *rest = name.removesuffix("_s").split("_")
    return first + "".join(word.capitalize() for word in rest)


@dataclass(frozen=True, slots=True)
class OptionTable(Generic[Options]):
    """The options of one direction: a reader for each field of the dataclass ``kind``.

    ``ignored`` are the names (in lower case) that Spark adds by itself; ``elsewhere`` has, for
    names (in lower case) that mean something in another place, the words to refuse them with.
    """

    kind: type[Options]
    readers: Mapping[str, Reader]
    ignored: Collection[str] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    _by_lower_name: dict[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = {each.name for each in fields(self.kind)}  # type: ignore[arg-type]
        assert names == set(self.readers), names ^ set(self.readers)
        by_lower_name = {option_name(name).lower(): name for name in self.readers}
        object.__setattr__(self, "_by_lower_name", by_lower_name)

    def from_keywords(self, values: Mapping[str, Any]) -> Options:
        """The options under their Python names.

        Raises :exc:`~mqkit.errors.ConfigurationError` as :meth:`from_spark` does.
        """
        for name in values:
            if name not in self.readers:
                near = difflib.get_close_matches(name, self.readers, n=1) or sorted(self.readers)
                raise ConfigurationError(f"unknown option {name!r}; known: {', '.join(near)}")
        return self.kind(**values)

    def from_spark(self, options: Mapping[str, str]) -> Options:
        """The options of ``.option(...)``, in any letter case.

        Raises :exc:`~mqkit.errors.ConfigurationError`, which names the option and, for a name that
        is not known, the one that it resembles; it never repeats the value of ``url``.
        """
        values: dict[str, Any] = {}
        for full_name, text in options.items():
            if self._is_ignored(full_name.lower()):
                continue
            given = full_name.removeprefix(OF_TABLES_PREFIX)
            name = self._by_lower_name.get(given.lower())
            if name is None:
                raise ConfigurationError(self._unknown(given))
            try:
                values[name] = self.readers[name](text)
            except ValueError as error:
                raise ConfigurationError(f"option {option_name(name)}: {error}") from None
        return self.kind(**values)

    def _is_ignored(self, name: str) -> bool:
        return name in self.ignored or name in OF_TABLES

    def knows(self, given: str) -> bool:
        """True for a name, in any letter case, that is an option of this direction."""
        return given.lower() in self._by_lower_name

    def _unknown(self, given: str) -> str:
        if (words := self.elsewhere.get(given.lower())) is not None:
            return words
        near = difflib.get_close_matches(given.lower(), self._by_lower_name, n=1)
        if near:
            meant = option_name(self._by_lower_name[near[0]])
            return f"unknown option {given!r}; did you mean {meant}?"
        names = ", ".join(sorted(map(option_name, self.readers)))
        return f"unknown option {given!r}; the options are {names}"
