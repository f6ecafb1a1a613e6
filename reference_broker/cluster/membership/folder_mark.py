"""The mark of a data folder that belongs to a node of a cluster, as its log keeps it.

    cluster_node/mark    | 1 | cluster id, node, disk id: each a size u16 and its octets |

An earlier version does not know the kind, and refuses the folder: it would find no definitions in
it, and drop all messages.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

from reference_broker.core.journal.definition_keys import NODE_MARK
from reference_broker.errors import Corrupt

KEY = f"{NODE_MARK}/mark"
VERSION = 1

_SIZE = struct.Struct(">H")


class FolderMark(NamedTuple):
    """The cluster, the node and the disk that a data folder belongs to."""

    cluster_id: str
    node: str
    disk_id: str


def encode_mark(mark: FolderMark) -> bytes:
    """The value of the definition :data:`KEY`."""
    sized = (_SIZE.pack(len(octets)) + octets for octets in map(str.encode, mark))
    return bytes((VERSION,)) + b"".join(sized)


def mark_in(definitions: Mapping[str, bytes]) -> FolderMark | None:
    """The mark among the definitions of a folder; ``None`` for one that was in no cluster. Raises
    :exc:`Corrupt`."""
    value = definitions.get(KEY)
    if value is None:
        return None
    try:
        if value[0] != VERSION:
            raise Corrupt(f"the mark of the folder has layout {value[0]}; this reads {VERSION}")
        texts, at = [], 1
        for _ in FolderMark._fields:
            (size,) = _SIZE.unpack_from(value, at)
            texts.append(value[at + _SIZE.size : at + _SIZE.size + size].decode())
            at += _SIZE.size + size
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise Corrupt(f"the mark of the folder can't be read: {error}") from error
    if at != len(value):
        raise Corrupt("the mark of the folder can't be read: it has another length")
    return FolderMark(*texts)
