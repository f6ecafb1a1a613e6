"""The functions that a synchronous app takes as handlers and middleware: plain ones."""

from __future__ import annotations

import inspect

from mqkit.errors import ConfigurationError


def check_plain(function: object, role: str) -> None:
    """Raises :exc:`~mqkit.errors.ConfigurationError` for ``async def``. Nothing would await such a
    middleware; such a handler would stand in the event loop, and what it publishes by the app would
    stop all others. ``role`` is what the function is to be, in words: "handlers"."""
    call = getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):
        name = getattr(function, "__qualname__", type(function).__qualname__)
        raise ConfigurationError(
            f"{name} is async def, and mqkit.sync.App has plain functions as {role}: write def,"
            " or take mqkit.App"
        )
