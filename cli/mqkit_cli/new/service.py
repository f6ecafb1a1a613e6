"""The names of a new service. Pure."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass

NAME_MAX = 40
"""Characters of a service's name: it is part of names of queues, settings and containers."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class BadName(ValueError):
    """A name that a service can't have; the text says which it can."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service by its name: ``order-mails`` handles the queue ``order-mails``."""

    name: str
    queue: str

    @classmethod
    def of(cls, name: str, queue: str | None = None) -> Service:
        """Raises :exc:`BadName`."""
        if not _NAME.fullmatch(name) or len(name) > NAME_MAX or keyword.iskeyword(name):
            raise BadName(
                f"{name!r} can't be the name of a service: small letters, digits and single"
                f" hyphens, {NAME_MAX} at most, and no word of Python (order-mails)"
            )
        queue = name if queue is None else queue
        if not _NAME.fullmatch(queue.replace(".", "-").replace("_", "-")):
            raise BadName(
                f"{queue!r} can't be the queue of a new service: small letters, digits, and single"
                " hyphens, dots or underscores; change topology.yaml for another one"
            )
        return cls(name, queue)

    @property
    def words(self) -> dict[str, str]:
        """The values of the names in the templates."""
        return {
            "name": self.name,
            "queue": self.queue,
            "title": self.name.replace("-", " ").capitalize(),
            "prefix": self.name.replace("-", "_").upper(),
        }
