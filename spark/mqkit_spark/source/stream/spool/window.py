"""The fingerprints of the newest messages that the spool has taken, in files of 16 octets each.

A file has the fingerprints of some batches, and the number of the newest of them as its name. Small
ones are put together as batches are settled, so that there are few; those that are older than the
window go.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from mqkit_spark.source.stream.spool.data_file import FINGERPRINTS
from mqkit_spark.source.stream.spool.disk import write
from mqkit_spark.source.stream.spool.fingerprint import FINGERPRINT_OCTETS

if TYPE_CHECKING:
    import pyarrow

SUFFIX = ".seen"
TOGETHER_OCTETS = 1024 * 1024
"""A file that is smaller takes the next batch too; so a batch writes no more than this twice."""


def add(folder: Path, batch: int, fingerprints: Sequence[pyarrow.Array], window: int) -> None:
    """Have the fingerprints of a batch there, synced, and let go of what is out of the window. Does
    nothing for a batch that is there already."""
    octets = b"".join(map(_octets, fingerprints))
    files = _newest_first(folder)
    if not files or _batch_of(files[0]) < batch:
        newest = files[0] if files and files[0].stat().st_size < TOGETHER_OCTETS else None
        before = newest.read_bytes() if newest is not None else b""
        write(folder / f"{batch:012d}{SUFFIX}", before + octets)
        if newest is not None:
            newest.unlink()
    seen = 0
    for path in _newest_first(folder):
        if seen >= window:
            path.unlink()
        else:
            seen += path.stat().st_size // FINGERPRINT_OCTETS


def known(
    own: pyarrow.Array, newest: Sequence[pyarrow.Array], folder: Path, window: int
) -> pyarrow.Array:
    """Those of ``own`` that are among the last ``window``: the ``newest``, which are in no file of
    ``folder`` yet, and as many of its files, from the newest on."""
    if not len(own) or not window:
        return pa.array([], FINGERPRINTS)
    seen, left = list(newest), window - sum(map(len, newest))
    for path in _newest_first(folder):
        if left <= 0:
            break
        seen.append(_read(path)[-left:])
        left -= len(seen[-1])
    # A partition's own are few beside a window: the table that is looked up in is made of them.
    marks = pa.chunked_array(seen, FINGERPRINTS)
    return marks.filter(pc.is_in(marks, value_set=own)).unique()


def _octets(fingerprints: pyarrow.Array) -> memoryview:
    begin = fingerprints.offset * FINGERPRINT_OCTETS
    octets = memoryview(fingerprints.buffers()[1])
    return octets[begin : begin + len(fingerprints) * FINGERPRINT_OCTETS]


def _read(path: Path) -> pyarrow.Array:
    size = path.stat().st_size
    if not size:
        return pa.array([], FINGERPRINTS)
    with pa.memory_map(str(path)) as mapped:
        octets = mapped.read_buffer(size)
    return pa.Array.from_buffers(FINGERPRINTS, size // FINGERPRINT_OCTETS, [None, octets])


def _newest_first(folder: Path) -> list[Path]:
    return sorted((path for path in folder.glob(f"*{SUFFIX}") if path.name[0] != "."), reverse=True)


def _batch_of(path: Path) -> int:
    return int("".join(takewhile(str.isdigit, path.name)))
