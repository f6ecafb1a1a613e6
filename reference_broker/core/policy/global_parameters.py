"""Global parameters: JSON values that tools keep with the broker, by name. One of them is the name
of the cluster; the others have no effect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from reference_broker.core.journal.definition_store import Change, DefinitionStore
from reference_broker.errors import Corrupt, ReferenceBrokerError

MAX_GLOBAL_PARAMETERS = 1_000
"""They are notes of a few tools, each a handful."""

NAME_BYTES_MAX = 255

VALUE_BYTES_MAX = 64 * 1024
"""Of a value as JSON."""

CLUSTER_NAME = "cluster_name"
"""The parameter whose value, a text, is shown as the name of the cluster."""

GLOBAL_PARAMETER = "global_parameter"
"""The kind of their definitions."""

_KEY_PREFIX = f"{GLOBAL_PARAMETER}/"


class GlobalParameterRefused(ReferenceBrokerError):
    """A bound is reached, or the cluster's name is no text; the text says which."""


class GlobalParameters:
    """Durable, in order of their names."""

    def __init__(self, definitions: DefinitionStore) -> None:
        self._definitions = definitions
        self._values: dict[str, Any] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def items(self) -> list[tuple[str, Any]]:
        """Names and values."""
        return sorted(self._values.items())

    def get(self, name: str) -> Any:
        """The value. Raises :exc:`KeyError`."""
        return self._values[name]

    def cluster_name(self, default: str) -> str:
        """The name that somebody has given the cluster, else ``default``. It may be empty."""
        name = self._values.get(CLUSTER_NAME)
        return name if isinstance(name, str) else default

    def set(self, name: str, value: Any) -> bool:
        """Keep ``value``; true for a new name. Whoever asked is answered when the journal is
        synced. Raises :exc:`GlobalParameterRefused`."""
        check_global_parameter(name, value)
        is_new = name not in self._values
        if is_new and len(self._values) >= MAX_GLOBAL_PARAMETERS:
            raise GlobalParameterRefused(f"there are at most {MAX_GLOBAL_PARAMETERS} of them")
        if not is_new and self._values[name] == value:
            return False
        self._definitions.agree((Change(_KEY_PREFIX + name, _encoded(value)),))
        self._values[name] = value
        return is_new

    def remove(self, name: str) -> bool:
        """Forget it; false when there is none of that name. See :meth:`set`."""
        if name not in self._values:
            return False
        self._definitions.agree((Change(_KEY_PREFIX + name, None),))
        del self._values[name]
        return True

    def take(self, name: str, value: bytes | None) -> None:
        """Have the parameter be as was agreed; ``None`` for one that is gone. Raises
        :exc:`Corrupt`."""
        if value is None:
            self._values.pop(name, None)
        else:
            self._values[name] = _decoded(name, value)

    def restore(self, definitions: Mapping[str, bytes]) -> None:
        """Take up what the journal holds. Raises :exc:`Corrupt`."""
        for key, value in definitions.items():
            if key.startswith(_KEY_PREFIX):
                self.take(key.removeprefix(_KEY_PREFIX), value)


def check_global_parameter(name: str, value: Any) -> None:
    """Raises :exc:`GlobalParameterRefused` for a name or a value that is too long, and for a
    cluster's name that is no text."""
    if name == CLUSTER_NAME and not isinstance(value, str):
        raise GlobalParameterRefused("the name of the cluster is a text")
    if len(name.encode(errors="surrogatepass")) > NAME_BYTES_MAX:
        raise GlobalParameterRefused(f"a name is at most {NAME_BYTES_MAX} bytes long")
    if len(_encoded(value)) > VALUE_BYTES_MAX:
        raise GlobalParameterRefused(f"a value is at most {VALUE_BYTES_MAX} bytes of JSON")


def _decoded(name: str, value: bytes) -> Any:
    try:
        return json.loads(value)
    except ValueError as error:
        key = _KEY_PREFIX + name
        raise Corrupt(f"the definition {key!r} can't be read: {error}") from error


def _encoded(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
