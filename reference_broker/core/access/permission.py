"""Permissions of a user in a virtual host: three patterns over names (RabbitMQ's access control).

Topic permissions add two patterns over routing keys, for one exchange. An empty pattern allows
nothing (RabbitMQ). These are values: ``vhost/method_access.py`` asks them.
"""

from __future__ import annotations

from enum import Enum, unique
from typing import NamedTuple

from reference_broker.core.base.pattern import Pattern

_NOTHING = "^$"
"""The meaning of an empty pattern: it matches no name, since none is empty."""


class AccessPattern:
    """The compiled pattern of a permission, made of ``text``. Raises :exc:`BadPattern`."""

    __slots__ = ("_pattern", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._pattern = Pattern(text or _NOTHING)

    def matches(self, name: str) -> bool:
        """True if the pattern is found anywhere in ``name``."""
        return self._pattern.matches(name.encode(errors="surrogateescape"))


def literal(text: str) -> str:
    """A pattern that finds ``text`` and nothing else."""
    return "".join(
        char if char.isalnum() or ord(char) > 127 else f"\\x{{{ord(char):x}}}" for char in text
    )


EVERYTHING = ".*"
"""The pattern that allows every name."""


@unique
class Action(Enum):
    """An operation on an object, by the name of the pattern that allows it."""

    CONFIGURE = "configure"
    WRITE = "write"
    READ = "read"


class Permission(NamedTuple):
    """A user's patterns in one virtual host."""

    configure: AccessPattern
    write: AccessPattern
    read: AccessPattern

    @classmethod
    def of(cls, configure: str, write: str, read: str) -> Permission:
        """Raises :exc:`BadPattern`."""
        return cls(AccessPattern(configure), AccessPattern(write), AccessPattern(read))

    def allows(self, action: Action, name: str) -> bool:
        pattern: AccessPattern = getattr(self, action.value)
        return pattern.matches(name)

    def texts(self) -> tuple[str, str, str]:
        return self.configure.text, self.write.text, self.read.text


class TopicPermission(NamedTuple):
    """A user's patterns over the routing keys of one topic exchange, as they were given:
    ``{username}`` and ``{vhost}`` in them are not filled in yet."""

    write: str
    read: str

    def pattern(self, action: Action, user: str, vhost: str) -> AccessPattern:
        """The pattern for this user there; the names in it mean themselves, whatever they hold.

        Raises :exc:`BadPattern`: it is another pattern than the one that was checked when set.
        """
        text = self.write if action is Action.WRITE else self.read
        for variable, name in (("{username}", user), ("{vhost}", vhost)):
            if variable in text:
                text = text.replace(variable, literal(name))
        return AccessPattern(text)


ALL_PERMISSIONS = Permission.of(EVERYTHING, EVERYTHING, EVERYTHING)
