"""Policies as the journal keeps them: a key each, and a value in bytes.

    policy, operator_policy    | 1 | number u64 | the rest, as JSON |

A policy comes as JSON, so JSON keeps every value as it was sent. Exchanges, queues and bindings
are in ``exchange/definitions.py``.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping

from reference_broker.core.journal.definition_keys import key_prefix
from reference_broker.core.policy.policy import Policy, PolicyKind
from reference_broker.core.policy.policy_validation import PolicyRefused, PolicyWish
from reference_broker.errors import Corrupt

VERSION = 1

_HEAD = struct.Struct(">BQ")


def policy_key(kind: PolicyKind, vhost_name: str, name: str) -> str:
    return key_prefix(kind, vhost_name) + name


def encode_policy(policy: Policy) -> bytes:
    value = {
        "name": policy.name,
        "pattern": policy.pattern.text,
        "apply-to": policy.apply_to,
        "definition": policy.definition,
        "priority": policy.priority,
    }
    return _HEAD.pack(VERSION, policy.number) + json.dumps(value, separators=(",", ":")).encode()


def decode_policy(kind: PolicyKind, value: bytes) -> Policy:
    """Raises :exc:`Corrupt`."""
    try:
        version, number = _HEAD.unpack_from(value)
        if version != VERSION:
            raise Corrupt(f"a {kind} has layout {version}; this broker reads {VERSION}")
        fields = json.loads(value[_HEAD.size :])
        name = fields["name"]
        return Policy(name, *PolicyWish.parse(kind, name, fields), number)
    except (struct.error, ValueError, KeyError, TypeError, PolicyRefused) as error:
        raise Corrupt(f"the definition of a {kind} can't be read: {error}") from error


def stored_policies(
    kind: PolicyKind, vhost_name: str, definitions: Mapping[str, bytes]
) -> Iterator[Policy]:
    """Those of one virtual host. Raises :exc:`Corrupt`."""
    prefix = key_prefix(kind, vhost_name)
    for key, value in definitions.items():
        if key.startswith(prefix):
            yield decode_policy(kind, value)
