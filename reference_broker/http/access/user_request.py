"""The wanted properties of a user: the body of ``PUT /api/users/NAME``, and a user of a definitions
file.

The keys are RabbitMQ's: ``password`` or ``password_hash`` with ``hashing_algorithm``, ``tags`` (a
list, or a text with commas), ``limits``; and ``permissions``, by virtual host, for a new user. A
user with neither password nor hash can't log in.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reference_broker.core.access.passwords import NO_PASSWORD, SHA256, PasswordHash, is_affordable
from reference_broker.core.access.permission import AccessPattern, Permission
from reference_broker.core.access.users import USER_LIMITS
from reference_broker.core.base.pattern import BadPattern
from reference_broker.http.request.answer import ApiError, bad_request
from reference_broker.http.request.limit_value import limits_of

NAME_BYTES_MAX = 255
"""Bytes of a user's or virtual host's name: connection.open has room for no more."""

PASSWORD_BYTES_MAX = 1_024
"""Bytes of a password. A longer one would be of no use: a login's first frame has no room for it
beside the name."""

_PATTERNS = ("configure", "write", "read")


@dataclass(frozen=True, slots=True)
class UserRequest:
    """Wanted properties of a user. ``password`` is to be hashed; where it is ``None``, ``hashed``
    is kept as it is."""

    tags: tuple[str, ...]
    limits: Mapping[str, int]
    permissions: Mapping[str, Permission]
    hashed: PasswordHash
    password: bytes | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> UserRequest:
        """The user that a JSON object describes. Raises :exc:`ApiError` 400, in RabbitMQ's words
        where it has some."""
        tags = body.get("tags", body.get("administrator"))
        if tags is None:
            raise bad_request("tags_not_present")
        if "password" in body and "password_hash" in body:
            raise bad_request("both_password_and_password_hash_are_provided")
        return cls(
            tags_of(tags),
            limits_of(body.get("limits", {}), USER_LIMITS, "user-limits"),
            _permissions(body.get("permissions", {})),
            _hash_of(body),
            _password_of(body),
        )


def checked_name(name: str, kind: str) -> str:
    """The name of something new. Raises :exc:`ApiError` 400 for one that no client can use."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise bad_request(f"{kind} name is not UTF-8") from None
    if not 0 < size <= NAME_BYTES_MAX:
        raise bad_request(f"{kind} name should have 1 to {NAME_BYTES_MAX} bytes, it has {size}")
    return name


def text_in(body: Mapping[str, Any], name: str) -> str:
    """The text under ``name``, which UTF-8 must be able to hold. Raises :exc:`ApiError` 400."""
    value = body.get(name)
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            value = None
    if not isinstance(value, str):
        raise bad_request(["not_string", name])
    return value


def tags_of(value: object) -> tuple[str, ...]:
    """Tags as a list, or as a text with commas. Raises :exc:`ApiError` 400."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise bad_request(["not_string", "tags"])
    tags = [text_in({"tags": tag}, "tags").strip() for tag in value]
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def permission_of(body: Mapping[str, Any]) -> Permission:
    """The patterns of a body. Raises :exc:`ApiError` 400 for one that is no text, or no pattern."""
    texts = [text_in(body, name) for name in _PATTERNS]
    return Permission(*map(_pattern_of, texts))


def _pattern_of(text: str) -> AccessPattern:
    try:
        return AccessPattern(text)
    except BadPattern as error:
        raise invalid_pattern(text, error) from None


def invalid_pattern(text: str, error: BadPattern) -> ApiError:
    """The refusal of a pattern, in RE2's words; RabbitMQ has those of PCRE as lists of character
    codes."""
    return bad_request(["invalid_regexp", text, str(error)])


def _permissions(value: object) -> dict[str, Permission]:
    if not isinstance(value, dict):
        raise bad_request(["not_json_object", "permissions"])
    for patterns in value.values():
        if not isinstance(patterns, dict):
            raise bad_request(["not_json_object", "permissions"])
    return {vhost: permission_of(patterns) for vhost, patterns in value.items()}


def _password_of(body: Mapping[str, Any]) -> bytes | None:
    """The password of a body; ``None`` where there is none, or an empty one, with which nobody can
    log in."""
    if not body.get("password"):
        if body.get("password", "") != "":
            raise bad_request(["not_string", "password"])
        return None
    password = text_in(body, "password").encode()
    if len(password) > PASSWORD_BYTES_MAX:
        raise bad_request(f"a password has at most {PASSWORD_BYTES_MAX} bytes")
    return password


def _hash_of(body: Mapping[str, Any]) -> PasswordHash:
    if "password_hash" not in body:
        return NO_PASSWORD
    text = text_in(body, "password_hash")
    algorithm = text_in(body, "hashing_algorithm") if body.get("hashing_algorithm") else SHA256
    try:
        stored = PasswordHash(algorithm, base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        # RabbitMQ shows the text, which may be the password itself at the wrong key.
        raise bad_request(["not_base64", "password_hash"]) from None
    if not is_affordable(stored):
        raise bad_request(["unsupported_hash", "argon2id of at most m=262144,t=16,p=4"])
    return stored
