"""The output of a ``ctl`` command: remarks and rows, in rabbitmqctl's formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mqkit_cli.ctl.arguments import Line
from mqkit_cli.ctl.exits import UsageError
from mqkit_cli.ctl.terms import cell

FORMATTERS = ("table", "json", "csv")


class Output:
    """Prints lines by ``write``. ``--quiet`` leaves out the remarks, ``--silent`` the names of the
    columns, too. Raises :exc:`UsageError` for a formatter that is not known."""

    def __init__(self, line: Line, write: Callable[[str], None]) -> None:
        self._write = write
        self._formatter = line.options.get("--formatter", "table")
        if self._formatter not in FORMATTERS:
            raise UsageError(
                f"the formatter {self._formatter!r} is not known: {', '.join(FORMATTERS)}"
            )
        is_table = self._formatter == "table"
        self._with_remarks = is_table and not (line.has("--quiet") or line.has("--silent"))
        self._with_names = not (line.has("--silent") or line.has("--no-table-headers"))

    def remark(self, text: str) -> None:
        """Say what is being done."""
        if self._with_remarks:
            self._write(text)

    def text(self, text: str) -> None:
        """Print what was asked for."""
        self._write(text)

    @property
    def is_json(self) -> bool:
        """True if the user wants JSON: a command that has one :meth:`value` beside its rows prints
        that."""
        return self._formatter == "json"

    def value(self, value: Any) -> None:
        """Print one value as JSON, whatever the formatter."""
        self._write(json.dumps(value, ensure_ascii=False))

    def rows(self, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
        """Print the ``columns`` of each row; one that it doesn't have is empty. No rows print
        nothing in a table, not even the names."""
        chosen = [{column: row.get(column) for column in columns} for row in rows]
        if self._formatter == "json":
            self.value(chosen)
            return
        separator = "," if self._formatter == "csv" else "\t"
        if chosen and self._with_names:
            self._write(separator.join(columns))
        for row in chosen:
            self._write(separator.join(map(self._cell, row.values())))

    def _cell(self, value: Any) -> str:
        text = cell(value)
        if self._formatter == "csv" and any(character in text for character in ',"'):
            return '"' + text.replace('"', '""') + '"'
        return text
