"""The complete list of methods, collected from the modules so that none can be forgotten."""

from __future__ import annotations

from mqkit.wire.methods import access, basic, channel, confirm, connection, exchange, queue, tx
from mqkit.wire.methods.method import Method

_MODULES = (connection, channel, access, exchange, queue, basic, confirm, tx)


def _concrete_methods() -> list[type[Method]]:
    """The classes with a method id of their own; the bases of a class of methods have none."""
    return [
        candidate
        for module in _MODULES
        for candidate in vars(module).values()
        if isinstance(candidate, type)
        and issubclass(candidate, Method)
        and hasattr(candidate, "METHOD_ID")
    ]


ALL_METHODS: tuple[type[Method], ...] = tuple(
    sorted(_concrete_methods(), key=lambda method: (method.CLASS_ID, method.METHOD_ID))
)
