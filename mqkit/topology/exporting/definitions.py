"""A RabbitMQ definitions file as the snapshot of one of its vhosts. Pure.

Such a file is what ``rabbitmqctl export_definitions`` and ``GET /api/definitions`` give
(RabbitMQ, "Schema Definition Export and Import"). Exchanges, queues, bindings and policies of one
vhost are taken; :attr:`Imported.left_out` has the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.errors import ConfigurationError
from mqkit.topology.exporting.folding import export
from mqkit.topology.file.document import MAX_ITEMS
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel
from mqkit.topology.snapshot import LiveQueue, Snapshot

Row: TypeAlias = Mapping[str, Any]

MAX_DEFINITIONS_BYTES = 64 * 1024 * 1024
"""A hundred thousand queues with a binding each; JSON of that size is read in a second."""

OBJECTS = ("exchanges", "queues", "bindings", "policies")
NEVER_TAKEN = (
    *("users", "permissions", "topic_permissions", "parameters", "global_parameters", "limits"),
)
"""Users have the hashes of passwords; operator policies and shovels are among the parameters."""
DEFAULT_VHOST = "/"


@dataclass(frozen=True, slots=True)
class Imported:
    """A topology file made of definitions, and the counts of what is not in it, by section."""

    text: str
    snapshot: Snapshot
    left_out: Mapping[str, int]


def import_definitions(document: bytes, vhost: str | None = None) -> Imported:
    """The topology file of ``vhost``, which need not be named where there is one only.

    Raises :exc:`~mqkit.errors.ConfigurationError`, in one line, for what is no definitions file.
    """
    definitions = _parsed(document)
    rows = {kind: _rows(definitions, kind) for kind in (*OBJECTS, *NEVER_TAKEN, "vhosts")}
    chosen = _chosen_vhost(rows, vhost)
    own = {kind: [row for row in rows[kind] if _vhost(row) in (None, chosen)] for kind in OBJECTS}
    for kind, found in own.items():
        if len(found) > MAX_ITEMS:
            raise ConfigurationError(
                f"the vhost {chosen!r} has {len(found)} {kind}; a topology has at most {MAX_ITEMS}"
            )
    snapshot = Snapshot(
        chosen,
        tuple(_exchange(row, place) for place, row in _named(own, "exchanges")),
        tuple(_queue(row, place) for place, row in _named(own, "queues")),
        tuple(_binding(row, place) for place, row in _placed(own, "bindings")),
        tuple(_policy(row, place) for place, row in _named(own, "policies")),
    )
    return Imported(
        export(snapshot),
        snapshot,
        {kind: len(rows[kind]) for kind in NEVER_TAKEN if rows[kind]},
    )


def _parsed(document: bytes) -> Mapping[str, Any]:
    if len(document) > MAX_DEFINITIONS_BYTES:
        raise ConfigurationError(f"larger than {MAX_DEFINITIONS_BYTES} bytes, which is the limit")
    try:
        found = json.loads(document.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ConfigurationError(f"not JSON: {error.msg} ({where})") from None
    except (ValueError, RecursionError):
        raise ConfigurationError("not JSON: not UTF-8 text, or nested too deeply") from None
    if not isinstance(found, dict) or not any(kind in found for kind in OBJECTS):
        raise ConfigurationError(
            f"not a RabbitMQ definitions file (expected a JSON object with {', '.join(OBJECTS)})"
        )
    return found


def _rows(definitions: Mapping[str, Any], kind: str) -> list[Row]:
    rows = definitions.get(kind, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ConfigurationError(f"{kind} is not a list of objects, as in a definitions file")
    return rows


def _chosen_vhost(rows: Mapping[str, list[Row]], named: str | None) -> str:
    found = {_vhost(row): None for kind in OBJECTS for row in rows[kind]}
    vhosts = [vhost for vhost in found if vhost is not None]
    listed = [row["name"] for row in rows["vhosts"] if isinstance(row.get("name"), str)]
    if named is not None:
        if None not in found and named not in (*vhosts, *listed):
            have = ", ".join(map(repr, dict.fromkeys((*vhosts, *listed)))) or "none"
            raise ConfigurationError(f"there is no vhost {named!r} in it (it has {have})")
        return named
    several = vhosts or listed
    if len(several) > 1:
        raise ConfigurationError(
            f"it has {len(several)} vhosts, of which one makes a topology: name it with --vhost"
            f" ({', '.join(map(repr, several[:10]))})"
        )
    return several[0] if several else DEFAULT_VHOST


def _vhost(row: Row) -> str | None:
    """``None`` in the definitions of a single vhost, which do not name it."""
    vhost = row.get("vhost")
    return vhost if isinstance(vhost, str) else None


def _placed(rows: Mapping[str, list[Row]], kind: str) -> Iterable[tuple[str, Row]]:
    return ((f"{kind}, item {number}", row) for number, row in enumerate(rows[kind], 1))


def _named(rows: Mapping[str, list[Row]], kind: str) -> Iterable[tuple[str, Row]]:
    """The rows of objects that somebody declared: none of the broker's own."""
    for place, row in _placed(rows, kind):
        name = _field(row, place, "name", str)
        if name and not name.startswith("amq."):
            yield f"{kind}: {name[:80]!r}", row


def _exchange(row: Row, place: str) -> Exchange:
    return Exchange(
        row["name"],
        type=_field(row, place, "type", str),
        durable=_field(row, place, "durable", bool, True),
        auto_delete=_field(row, place, "auto_delete", bool, False),
        internal=_field(row, place, "internal", bool, False),
        arguments=_field(row, place, "arguments", dict, {}),
    )


def _queue(row: Row, place: str) -> LiveQueue:
    return LiveQueue(
        Queue(
            row["name"],
            durable=_field(row, place, "durable", bool, True),
            auto_delete=_field(row, place, "auto_delete", bool, False),
            arguments=_field(row, place, "arguments", dict, {}),
        )
    )


def _binding(row: Row, place: str) -> Binding:
    return Binding(
        _field(row, place, "source", str),
        _field(row, place, "destination", str),
        key=_field(row, place, "routing_key", str, ""),
        to_exchange=_field(row, place, "destination_type", str) == "exchange",
        arguments=_field(row, place, "arguments", dict, {}),
    )


def _policy(row: Row, place: str) -> PolicyModel:
    word = _field(row, place, "apply-to", str, "all")
    if word not in set(map(str, ApplyTo)):
        raise ConfigurationError(f"{place}: apply-to is not as in a definitions file")
    return PolicyModel(
        row["name"],
        _field(row, place, "pattern", str),
        ApplyTo(word),
        _field(row, place, "priority", int, 0),
        _field(row, place, "definition", dict),
    )


def _field(row: Row, place: str, name: str, kind: type, default: Any = None) -> Any:
    """A value of the type that RabbitMQ gives it; a file of another shape is refused."""
    value = row.get(name, default)
    if type(value) is not kind:
        raise ConfigurationError(f"{place}: {name} is not as in a definitions file")
    return value
