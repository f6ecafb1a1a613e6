"""A broker's sync to disk before it confirms a persistent message, as far as it is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOT_KNOWN = "not known"
NO_DISK = "no disk"
REFERENCE = "fdatasync of all that is confirmed"
"""The reference broker's sync. Its ``product`` is RabbitMQ too, for its clients' sake."""
_BY_PRODUCT = {
    "RabbitMQ": "fsync of all that is confirmed (classic queue)",
    "LavinMQ": "none: files mapped into memory, confirmed when they are written to",
}


def sync_mode(server_properties: Mapping[str, Any]) -> str:
    """The sync of a broker as it comes out of the box, by the ``product`` in its
    ``connection.start``: the bench can't see how somebody else has configured it."""
    return _BY_PRODUCT.get(str(server_properties.get("product")), NOT_KNOWN)
