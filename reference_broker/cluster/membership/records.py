"""The cluster's own rows in etcd, as JSON: an operator reads them with etcdctl.

Fields that a later version has added are kept out of the way: this one passes them over, and the
feature level says when it may not.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, TypeVar

from reference_broker.errors import Corrupt

FEATURE_LEVEL = 1
"""The highest level whose rows, records and frames this version understands. An operator raises
that of a cluster when all of its nodes have the version."""


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """``cluster``: made by the founder. ``secret_fingerprint`` is of the secret that nodes know
    each other by; it does not tell the secret. ``history`` is the number of times that the metadata
    was lost, and restored from the copy of a data folder: at ``restored_from``, a revision of the
    history before."""

    id: str
    feature_level: int
    secret_fingerprint: str
    founded_at_ms: int
    history: int = 0
    restored_from: int = 0


@dataclass(frozen=True, slots=True)
class MemberRecord:
    """``members/<node>``: a node that has joined. ``number`` is of this cluster's node of that
    name, and of no other one ever; ``run`` rises with each start of the folder, and ``start_id`` is
    that start's own, as copies of a folder have one run; ``position`` is one of the log that was
    synced in that run or before it."""

    number: int
    disk_id: str
    run: int
    start_id: str
    position: int
    amqp: str
    http: str


class NodeState(StrEnum):
    """The state of a node that is there."""

    UP = "up"
    DRAINING = "draining"


@dataclass(frozen=True, slots=True)
class LiveRecord:
    """``live/<node>``: a node that is there, and where its link listens."""

    run: int
    state: NodeState
    link: str


Record = TypeVar("Record", ClusterRecord, MemberRecord, LiveRecord)


def encoded(record: ClusterRecord | MemberRecord | LiveRecord) -> bytes:
    """The record as a value in etcd."""
    return json.dumps(asdict(record), separators=(",", ":")).encode()


def decoded(type: type[Record], key: str, value: bytes) -> Record:
    """The record of that type. Raises :exc:`Corrupt` for a value that is none; it names ``key``."""
    try:
        found: dict[str, Any] = json.loads(value)
        wanted = {field.name: found[field.name] for field in fields(type)}
        if "state" in wanted:
            wanted["state"] = NodeState(wanted["state"])
        record = type(**wanted)
        _check_types(record)
    except (ValueError, KeyError, TypeError) as error:
        raise Corrupt(f"the value of {key!r} in etcd can't be read: {error!r}") from error
    return record


def _check_types(record: Any) -> None:
    for field in fields(record):
        value = getattr(record, field.name)
        expected = int if field.type == "int" else str
        if not isinstance(value, expected) or isinstance(value, bool):
            raise TypeError(f"{field.name} is {value!r}")
