"""Virtual hosts, users and permissions as the journal keeps them.

    vhost/VHOST                             description, tags, tracing, default_queue_type, limits
    user/NAME                               algorithm, hash, tags, loopback_only, limits
    permission/VHOST/USER                   configure, write, read
    topic_permission/VHOST/USER/EXCHANGE    write, read

Each part of a key is percent-encoded. A value is the version of the layout (1) and a field table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote

from mqkit.wire import WireError, decode_table, encode_table
from reference_broker.core.access.passwords import PasswordHash
from reference_broker.core.access.permission import Permission, TopicPermission
from reference_broker.core.access.users import User
from reference_broker.core.base.pattern import BadPattern
from reference_broker.core.base.vhost_info import UNDEFINED, VHostInfo
from reference_broker.errors import Corrupt

VERSION = 1

VHOST = "vhost"
USER = "user"
PERMISSION = "permission"
TOPIC_PERMISSION = "topic_permission"
SET_UP = "~set_up"
"""There once was a user: see :meth:`~reference_broker.core.broker.Broker.note_set_up`. An earlier
version may pass it over."""
KINDS = (VHOST, USER, PERMISSION, TOPIC_PERMISSION, SET_UP)


def key_of(kind: str, *names: str) -> str:
    """The journal's key of the object with these names."""
    return "/".join((kind, *(quote(name, safe="", errors="surrogateescape") for name in names)))


def stored(
    definitions: Mapping[str, bytes], kind: str
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """The names and the fields of every object of a kind, in order of their keys.

    Raises :exc:`Corrupt` for one that can't be read, or that a later version has written.
    """
    for key in sorted(definitions):
        found, *names = key.split("/")
        if found == kind:
            fields = fields_of(kind, definitions[key])
            yield tuple(unquote(name, errors="surrogateescape") for name in names), fields


def fields_of(kind: str, value: bytes) -> dict[str, Any]:
    """The fields of the object of a definition. Raises :exc:`Corrupt`."""
    if value[:1] != bytes((VERSION,)):
        raise Corrupt(f"the definition of a {kind} has a layout that this broker does not read")
    try:
        return decode_table(value, 1)[0]
    except WireError as error:
        raise Corrupt(f"the definition of a {kind} can't be read: {error}") from error


def _value(fields: Mapping[str, Any]) -> bytes:
    return bytes((VERSION,)) + encode_table(fields)


def encode_set_up() -> bytes:
    return _value({})


def encode_vhost(info: VHostInfo) -> bytes:
    return _value(
        {
            "description": info.description,
            "tags": list(info.tags),
            "tracing": info.tracing,
            "default_queue_type": info.default_queue_type,
            "limits": dict(info.limits),
        }
    )


def decode_vhost(fields: Mapping[str, Any]) -> VHostInfo:
    return VHostInfo(
        fields.get("description", ""),
        tuple(fields.get("tags", ())),
        fields.get("tracing", False),
        fields.get("default_queue_type", UNDEFINED),
        dict(fields.get("limits", {})),
    )


def encode_user(user: User) -> bytes:
    return _value(
        {
            "algorithm": user.password.algorithm,
            "hash": user.password.value.hex(),
            "tags": list(user.tags),
            "loopback_only": user.loopback_only,
            "limits": dict(user.limits),
        }
    )


def decode_user(name: str, fields: Mapping[str, Any]) -> User:
    """Raises :exc:`Corrupt` for a hash that can't be read."""
    try:
        password = PasswordHash(fields["algorithm"], bytes.fromhex(fields["hash"]))
    except (KeyError, TypeError, ValueError) as error:
        raise Corrupt(f"the definition of user {name!r} can't be read") from error
    return User(
        name,
        password,
        tuple(fields.get("tags", ())),
        fields.get("loopback_only", False),
        dict(fields.get("limits", {})),
    )


def encode_permission(permission: Permission) -> bytes:
    configure, write, read = permission.texts()
    return _value({"configure": configure, "write": write, "read": read})


def decode_permission(fields: Mapping[str, Any]) -> Permission:
    """Raises :exc:`Corrupt` for a pattern that is not there, or this broker's RE2 does not take."""
    try:
        return Permission.of(fields["configure"], fields["write"], fields["read"])
    except (KeyError, BadPattern) as error:
        raise Corrupt(f"a permission's pattern can't be used: {error}") from error


def encode_topic_permission(permission: TopicPermission) -> bytes:
    return _value(permission._asdict())


def decode_topic_permission(fields: Mapping[str, Any]) -> TopicPermission:
    """Raises :exc:`Corrupt` for a pattern that is not there."""
    try:
        return TopicPermission(fields["write"], fields["read"])
    except KeyError as error:
        raise Corrupt(f"a topic permission lacks its pattern {error}") from error
