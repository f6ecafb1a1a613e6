"""The declarations that are watched, of all that an app has declared. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqkit.declaration import Binding, Declaration, Exchange, Queue

RESERVED = "amq."
"""The broker's own names begin so; it alone declares them."""


def watched(declarations: Iterable[Declaration]) -> tuple[Declaration, ...]:
    """``declarations`` without exclusive queues and what is bound to them.

    Nobody but the connection that has an exclusive queue can change it: the broker answers others
    405 (RESOURCE_LOCKED), over HTTP too. Without the broker's own objects, too.
    """
    every = tuple(declarations)
    exclusive = {item.name for item in every if isinstance(item, Queue) and item.exclusive}
    return tuple(item for item in every if not _is_private(item, exclusive))


def vanishes_by_itself(declaration: Declaration) -> bool:
    """True if the object's own declaration lets it go: it is declared again when it is missing, and
    nobody is told, for nobody need have done it."""
    match declaration:
        case Queue(auto_delete=auto_delete, arguments=arguments):
            return auto_delete or "x-expires" in arguments
        case Exchange(auto_delete=auto_delete):
            return auto_delete
    return False


def ends_with_broker(declaration: Declaration) -> bool:
    """True if a restart of the broker removes the object."""
    return isinstance(declaration, Exchange | Queue) and not declaration.durable


class Hanging:
    """The bindings of ``declarations`` by what they hang on: they go when one of their ends
    does."""

    def __init__(self, declarations: Iterable[Declaration]) -> None:
        self._by_end: dict[tuple[bool, str], list[Binding]] = {}
        for item in declarations:
            if isinstance(item, Binding):
                ends = dict.fromkeys(((True, item.source), (item.to_exchange, item.destination)))
                for end in ends:
                    self._by_end.setdefault(end, []).append(item)

    def on(self, declaration: Declaration) -> Sequence[Binding]:
        """The bindings from or to ``declaration``."""
        if isinstance(declaration, Binding):
            return ()
        return self._by_end.get((isinstance(declaration, Exchange), declaration.name), ())


def _is_private(declaration: Declaration, exclusive: set[str]) -> bool:
    match declaration:
        case Binding(destination=name, to_exchange=False):
            return name in exclusive
        case Binding(destination=name):
            return name.startswith(RESERVED)
        case Queue(name=name):
            return name in exclusive or name.startswith(RESERVED)
        case Exchange(name=name):
            return name.startswith(RESERVED)
