"""The product and the version that a broker says it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

RABBITMQ = "RabbitMQ"
REFERENCE_BROKER = "mqkit reference broker"
_NUMBERS = re.compile(r"\d{1,9}")
_VERSION_PARTS = 3


class Product(NamedTuple):
    """A broker's product, its version as numbers (``(3, 10, 8)``), and the types of exchanges that
    it has, plugins' too; empty where it does not tell."""

    name: str
    version: tuple[int, ...] = ()
    exchange_types: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.name} {'.'.join(map(str, self.version))}".rstrip()

    @classmethod
    def of(cls, overview: Mapping[str, Any]) -> Product:
        """The product that ``/api/overview`` names. RabbitMQ before 3.8 gives its version only."""
        name = overview.get("product_name") or RABBITMQ
        version = overview.get("product_version") or overview.get("rabbitmq_version") or ""
        release = str(version).partition("-")[0].partition("+")[0]
        types = overview.get("exchange_types") or ()
        return cls(
            str(name),
            tuple(map(int, _NUMBERS.findall(release)[:_VERSION_PARTS])),
            frozenset(str(row["name"]) for row in types if isinstance(row, dict) and "name" in row),
        )
