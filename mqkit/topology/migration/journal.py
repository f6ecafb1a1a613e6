"""The journal of a migration: a file of JSON lines, each on the disk before what it announces is
done at the broker.

A last line that a kill has cut short was not acted on: it is taken away. Mode 0600.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mqkit.declaration import Binding
from mqkit.errors import ConfigurationError
from mqkit.topology.migration.migration import Migration, binding_to_dict
from mqkit.topology.migration.progress import Kind, Progress, Record, progress_after
from mqkit.topology.migration.steps import Event, Step
from mqkit.transitions import IllegalTransition

MODE = 0o600
LINE_OCTETS_MAX = 16 * 1024 * 1024
"""A window of ids, or the bindings of a queue; a longer line is none of ours."""

FILE_NAME_OCTETS_MAX = 200
"""Of the part that the queue's name gives; file systems have 255 in all."""

OnRecord = Callable[[Record], None]
"""Called with each record once it is on the disk. What it raises ends the run there."""


def journal_path(topology: Path, queue: str) -> Path:
    """The journal of ``queue``, beside the topology's file: ``topology.orders.migration.jsonl``.

    A name that is too long for a file has its end cut off: name the journal yourself then.
    """
    escaped = quote(queue, safe="")[:FILE_NAME_OCTETS_MAX]
    return topology.with_name(f"{topology.stem}.{escaped}.migration.jsonl")


class Journal:
    """Made by :meth:`opened`. Not to be shared: the broker's lock comes first."""

    def __init__(self, path: Path, descriptor: int, progress: Progress | None) -> None:
        self.path = path
        self._descriptor = descriptor
        self._progress = progress
        self.on_record: OnRecord = lambda record: None

    @classmethod
    def opened(cls, path: Path) -> Journal:
        """The journal at ``path``, which is made if it is not there. Close it.

        Raises :exc:`~mqkit.errors.ConfigurationError` for a file that is no journal, or can't be
        written.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, MODE)
            _sync_folder(path.parent)
        except OSError as error:
            raise ConfigurationError(f"the journal {path} can't be written: {error}") from None
        try:
            progress, whole = _read(path)
            os.ftruncate(descriptor, whole)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor, None if progress is None else progress.taken_up())

    def close(self) -> None:
        os.close(self._descriptor)

    @property
    def is_new(self) -> bool:
        """True while it tells of no migration."""
        return self._progress is None

    @property
    def progress(self) -> Progress:
        """The progress so far. Ask only where one has begun."""
        assert self._progress is not None
        return self._progress

    def begin(self, migration: Migration) -> None:
        """A new migration, whatever stood here before."""
        self._write(Kind.MIGRATION, migration=migration.to_dict(), at=_now())

    def begun(self, step: Step) -> None:
        """``step`` is done from here on."""
        self._write(Kind.BEGUN, step=str(step), at=_now())

    def done(self, step: Step, event: Event) -> None:
        """``step`` has ended."""
        self._write(Kind.DONE, step=str(step), event=str(event), at=_now())

    def aborts(self, event: Event) -> None:
        """From here on it goes back."""
        self._write(Kind.ABORT, event=str(event), at=_now())

    def window(
        self, source: str, destination: str, ids: list[str | None], *, with_confirms: bool
    ) -> None:
        """These messages are about to be moved."""
        self._write(
            Kind.WINDOW,
            source=source,
            destination=destination,
            ids=ids,
            with_confirms=with_confirms,
        )

    def committed(self, count: int) -> None:
        """So many of the window are moved, and the rest are not."""
        self._write(Kind.COMMITTED, count=count)

    def bound(self, binding: Binding) -> None:
        """Somebody has bound the queue."""
        self._write(Kind.BINDING, binding=binding_to_dict(binding))

    def lost(self, count: int) -> None:
        """So many messages went with the queue."""
        self._write(Kind.LOST, count=count)

    def remark(self, text: str) -> None:
        """A sentence for the report."""
        self._write(Kind.REMARK, text=text)

    def _write(self, kind: Kind, **values: Any) -> None:
        record = {"record": str(kind), **values}
        line = json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        try:
            written = os.write(self._descriptor, line)
            if written < len(line):
                raise OSError(f"{written} of {len(line)} octets were written")
            os.fsync(self._descriptor)
        except OSError as error:
            raise ConfigurationError(
                f"the journal {self.path} can't be written ({error}); nothing was done that it does"
                " not tell"
            ) from None
        self._progress = progress_after(self._progress, record)
        self.on_record(record)


def read_journal(path: Path) -> Progress | None:
    """The progress that a journal tells, which is left alone; ``None`` where there is none.

    Raises :exc:`~mqkit.errors.ConfigurationError` for a file that is no journal.
    """
    return _read(path)[0] if path.exists() else None


def _read(path: Path) -> tuple[Progress | None, int]:
    """The progress, and the octets of the lines that are whole."""
    progress: Progress | None = None
    whole = 0
    number = 0
    try:
        with path.open("rb") as lines:
            while line := lines.readline(LINE_OCTETS_MAX):
                number += 1
                if not line.endswith(b"\n"):
                    if len(line) == LINE_OCTETS_MAX:
                        raise ValueError("a line that is too long")
                    break
                record = json.loads(line)
                progress = progress_after(progress, record)
                whole += len(line)
    except OSError as error:
        raise ConfigurationError(f"the journal {path} can't be read: {error}") from None
    except (ValueError, KeyError, TypeError, RecursionError, IllegalTransition) as error:
        raise ConfigurationError(
            f"{path}:{number}: this is no journal of a migration ({error}); name another place with"
            " --journal"
        ) from None
    return progress, whole


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _now() -> str:
    return datetime.now(UTC).isoformat()
