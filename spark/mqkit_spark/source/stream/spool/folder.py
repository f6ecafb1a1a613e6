"""The spool folder, as the driver's process of the query that runs has it: alone."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mqkit_spark.source.stream.offset import Offset
from mqkit_spark.source.stream.spool import window
from mqkit_spark.source.stream.spool.batch_folder import BatchFolder, standing
from mqkit_spark.source.stream.spool.counts import Counts, total
from mqkit_spark.source.stream.spool.data_file import counts_of, fingerprints_of
from mqkit_spark.source.stream.spool.disk import hold, probe, write
from mqkit_spark.source.stream.spool.faults import SpoolError, one_line
from mqkit_spark.source.stream.spool.layout import Layout
from mqkit_spark.source.stream.spool.lineage import Standing

FORMAT = 1

OWN_NAMES = {"batches", "seen", "over", "owner.lock", "publish.lock"}
"""The names of :class:`Layout` that may be there before the description is."""

OWNED_WITHIN_S = 20.0
"""The process of a query that was ended, or killed, is gone within this time."""


@dataclass(frozen=True, slots=True)
class History:
    """The newest settled batch, and the counts of all settled ones."""

    last: Offset
    counts: Counts


@dataclass(slots=True)
class SpoolFolder:
    """Get one by :meth:`owned`. The folder is this process's until it ends."""

    layout: Layout
    dedup_window: int
    _lock: int = field(repr=False)

    @classmethod
    def owned(
        cls, root: Path, queue: str, dedup_window: int, *, within_s: float = OWNED_WITHIN_S
    ) -> SpoolFolder:
        """Take the folder, make what is missing, and try its file system.

        Raises :exc:`~.faults.SpoolError` in one line: another query has it, it is another queue's,
        it holds other files, or it can't be used.
        """
        layout = Layout(root)
        with one_line(f"spoolLocation {root}"):
            root.mkdir(parents=True, exist_ok=True)
            _check_is_ours(layout, queue)
            what = f"spoolLocation {root} is in use by another query that runs"
            lock = hold(layout.owner_lock, within_s=within_s, what=what)
            try:
                probe(root)
                for folder in (layout.batches, layout.seen, layout.over):
                    folder.mkdir(exist_ok=True)
                if not layout.description.exists():
                    write(
                        layout.description, json.dumps({"format": FORMAT, "queue": queue}).encode()
                    )
                _sweep(layout)
            except BaseException:
                os.close(lock)
                raise
        return cls(layout, dedup_window, lock)

    def release(self) -> None:
        """Let others have it. Idempotent."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def batch(self, offset: Offset) -> BatchFolder:
        """The folder of a batch, there or not."""
        return BatchFolder(self.layout.batches, offset)

    def standing(self) -> list[Standing]:
        """The batches that are not settled, in their order."""
        return [Standing(each.offset, each.is_taken()) for each in standing(self.layout.batches)]

    def begin(self, offset: Offset) -> None:
        """Have a new batch's folder there, synced. Spark may log the offset after that."""
        self.batch(offset).create()

    def history(self) -> History | None:
        """The settled batches; ``None`` before the first."""
        try:
            found = json.loads(self.layout.history.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise SpoolError(f"{self.layout.history} can't be read: {error}") from None
        return History(Offset.from_json(found["last"]), Counts.from_json(found["counts"]))

    def settle(self, offset: Offset) -> Counts:
        """Spark has finished the batch: keep fingerprints, add up counts, remove the rows.

        It can be broken off anywhere and done again.
        """
        batch = self.batch(offset)
        before = self.history()
        with self.layout.publishing():
            counts = total(_counts_of(batch))
            if before is None or before.last.batch < offset.batch:
                marks = [one for path in batch.files().values() for one in fingerprints_of(path)]
                window.add(self.layout.seen, offset.batch, marks, self.dedup_window)
                self._write_history(offset, total([before.counts, counts] if before else [counts]))
            gone = self.layout.over / offset.name
            os.rename(batch.path, gone)
        shutil.rmtree(gone, ignore_errors=True)
        return counts

    def go_on_from(self, offset: Offset) -> None:
        """Have ``offset`` be the newest settled batch, though its files are not known here."""
        before = self.history()
        self._write_history(offset, before.counts if before else Counts())

    def _write_history(self, last: Offset, counts: Counts) -> None:
        found = {"last": asdict(last), "counts": counts.to_json()}
        write(self.layout.history, json.dumps(found).encode())


def _counts_of(batch: BatchFolder) -> Sequence[Counts]:
    """Of a partition whose reader died before it had written them, the rows tell the rest."""
    return [batch.counts(partition) or counts_of(path) for partition, path in batch.files().items()]


def _check_is_ours(layout: Layout, queue: str) -> None:
    try:
        found = json.loads(layout.description.read_bytes())
    except FileNotFoundError:
        # A process that died in the middle of making it may have left some names of ours.
        names = {path.name for path in layout.root.iterdir() if not path.name.startswith(".")}
        if names - OWN_NAMES:
            raise SpoolError(
                f"spoolLocation {layout.root} holds other files: name an empty folder, or one that"
                " does not exist yet"
            ) from None
        return
    except ValueError:
        raise SpoolError(f"{layout.description} can't be read") from None
    if found.get("format") != FORMAT:
        raise SpoolError(f"spoolLocation {layout.root} is of another version of mqkit")
    if found["queue"] != queue:
        raise SpoolError(
            f"spoolLocation {layout.root} is the spool of queue {found['queue']!r}, not {queue!r}"
        )


def _sweep(layout: Layout) -> None:
    """Remove what a process that died has left half made, or half removed."""
    for path in [*layout.over.iterdir(), *layout.batches.glob(".making-*")]:
        shutil.rmtree(path, ignore_errors=True)
    for pattern in (".prob*", ".history.json.*", ".spool.json.*", "seen/.*"):
        for path in layout.root.glob(pattern):
            path.unlink(missing_ok=True)
