"""The result: the Parquet files that the sink's own log names. Others are of attempts that lost."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq

COMPACT = ".compact"


def newest_batch(folder: Path) -> int:
    """The newest batch that is in the log; -1 for none."""
    return max((_number(path) for path in _log(folder)), default=-1)


def ids(folder: Path) -> dict[str, list[int]]:
    """The batches in which each message id is, once for each row."""
    found: dict[str, list[int]] = defaultdict(list)
    for batch, path in _files(folder):
        for message_id in pq.read_table(path, columns=["message_id"]).column(0).to_pylist():
            found[message_id].append(batch)
    return found


def rows(folder: Path) -> int:
    """The number of rows."""
    return sum(pq.read_metadata(path).num_rows for _, path in _files(folder))


def _files(folder: Path) -> Iterator[tuple[int, Path]]:
    """A compact file repeats all before it, without their batches: those are known from the files
    that it was made of, which stay for a while, so the first place of a path counts."""
    seen: set[str] = set()
    for log in sorted(_log(folder), key=lambda path: (path.suffix == COMPACT, _number(path))):
        for line in log.read_text().splitlines()[1:]:
            entry = json.loads(line)
            if entry["path"] not in seen:
                seen.add(entry["path"])
                yield _number(log), Path(unquote(urlsplit(entry["path"]).path))


def _log(folder: Path) -> list[Path]:
    places = (folder / "_spark_metadata").glob("[0-9]*")
    return [path for path in places if path.name.removesuffix(COMPACT).isdigit()]


def _number(path: Path) -> int:
    return int(path.name.removesuffix(COMPACT))
