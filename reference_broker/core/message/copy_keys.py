"""The routing keys in a message's CC and BCC headers (rabbitmq.com/docs/sender-selected)."""

from __future__ import annotations

from typing import Any

from mqkit.wire import Typed


def cc_keys(headers: dict[str, Any], name: str = "CC") -> list[bytes]:
    """The additional routing keys in the CC header; an element that is no text is passed over.
    ``name`` may be BCC instead."""
    keys = headers.get(name)
    if not isinstance(keys, list):
        return []
    return [octets for key in keys if (octets := _octets(key)) is not None]


def _octets(value: Any) -> bytes | None:
    if isinstance(value, Typed):
        value = value.value
    if isinstance(value, str):
        return value.encode(errors="surrogateescape")
    return value if isinstance(value, bytes) else None
