"""Archives, read as docs/lots.md has their format."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interop.archives.octets import Tagged, encoded, table

TAGS = {
    **{"byte": "b", "unsignedbyte": "B", "short": "s", "unsignedshort": "u", "unsignedint": "i"},
    **{"signedint": "I", "long": "l", "float": "f", "decimal": "D", "timestamp": "T"},
    **{"longstr": "S", "binary": "x", "table": "F", "double": "d"},
}
INT_BITS = 31
TORN = (EOFError, gzip.BadGzipFile, zlib.error)


def read(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Properties and bodies in order, up to the end or the tear. Raises ``ValueError`` for a file
    that is not as it is documented."""
    name = path.name.removesuffix(".part")
    yield from _parquet(path) if name.endswith(".parquet") else _json_lines(path)


def _json_lines(path: Path) -> Iterator[tuple[bytes, bytes]]:
    digest, count, end = hashlib.sha256(), 0, None
    for line in _lines(path):
        shown = json.loads(line)
        if end is not None:
            raise ValueError(f"{path.name} goes on behind its end")
        if "archive" in shown:
            if shown["archive"] != "mqkit lot" or count:
                raise ValueError(f"{path.name} has no first line")
        elif shown.get("end"):
            end = (shown["messages"], shown["sha256"])
            if end != (count, digest.hexdigest()):
                raise ValueError(f"{path.name} ends with {end}, not {count}")
        else:
            count += 1
            yield _properties(shown), _body(shown)
        digest.update(line)
    if end is None and path.suffix != ".part":
        raise ValueError(f"{path.name} has no end")


def _lines(path: Path) -> Iterator[bytes]:
    with gzip.open(path, "rb") as file:
        while True:
            try:
                line = file.readline()
            except TORN:
                return
            if not line.endswith(b"\n"):
                return
            yield line


def _parquet(path: Path) -> Iterator[tuple[bytes, bytes]]:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(100, columns=["record", "body"]):
            for record, body in zip(*(column.to_pylist() for column in batch), strict=True):
                yield _properties(json.loads(record)), body


def _properties(shown: dict[str, Any]) -> bytes:
    if "properties_base64" in shown:
        return base64.b64decode(shown["properties_base64"], validate=True)
    headers = None
    if "headers" in shown:
        headers = table([(name, _tagged(each)) for name, each in shown["headers"].items()])
    return encoded(shown["properties"], headers)


def _body(shown: dict[str, Any]) -> bytes:
    if "body_base64" in shown:
        return base64.b64decode(shown["body_base64"], validate=True)
    return str(shown["body"]).encode()


def _tagged(shown: Any) -> Tagged:
    """A value of JSON as the type that it stands for."""
    match shown:
        case None:
            return "V", None
        case bool():
            return "t", shown
        case int():
            return ("I" if -(1 << INT_BITS) <= shown < 1 << INT_BITS else "l"), shown
        case float():
            return "d", shown
        case str():
            return "S", shown.encode()
        case list():
            return "A", [_tagged(each) for each in shown]
        case {"$amqp": name, "value": value}:
            return _named(TAGS[name], value)
        case dict():
            return "F", [(name, _tagged(each)) for name, each in shown.items()]
    raise ValueError(f"no value of JSON: {shown!r}")


def _named(tag: str, value: Any) -> Tagged:
    if tag in "Sx":
        return tag, base64.b64decode(value, validate=True)
    if tag == "F":
        return tag, [(name, _tagged(each)) for name, each in value]
    return tag, value
