"""``depends``: the default value of a handler's argument that is a resource.

async def get_session() -> AsyncIterator[Session]:
    async with Session(engine) as session:
        yield session

@app.consumer("orders")
async def store(order: Order, session: Session = mqkit.depends(get_session)) -> None: ...
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, TypeVar, overload

from mqkit.errors import ConfigurationError

ValueT = TypeVar("ValueT")


class Scope(StrEnum):
    """The lifespan of a resource."""

    MESSAGE = "message"
    """One call of a handler: a message, or a batch."""
    APP = "app"
    """From the first call that needs it to the end of the app."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """A resource: two are the same where they have one function and one scope."""

    function: Callable[..., Any]
    scope: Scope

    @property
    def name(self) -> str:
        """The name of its function."""
        return getattr(self.function, "__qualname__", type(self.function).__qualname__)


_Scope = Literal["message", "app"]


@overload
def depends(
    function: Callable[..., AsyncIterator[ValueT]], *, scope: _Scope = "message"
) -> ValueT: ...


@overload
def depends(function: Callable[..., Iterator[ValueT]], *, scope: _Scope = "message") -> ValueT: ...


@overload
def depends(function: Callable[..., Awaitable[ValueT]], *, scope: _Scope = "message") -> ValueT: ...


@overload
def depends(function: Callable[..., ValueT], *, scope: _Scope = "message") -> ValueT: ...


def depends(function: Callable[..., Any], *, scope: _Scope = "message") -> Any:
    """The default value of a handler's argument: each call gets what ``function`` makes.

    A generator, ``async`` or not, gives the resource with its ``yield``; what comes after it is
    run when the handler has ended, however it ended. What the handler raised is raised at the
    ``yield``, and counts as raised whatever the generator makes of it. A plain function runs in a
    worker thread, a plain generator as well.

    ``scope`` "message": made for each call of a handler, once where several need it. "app": made
    for the first call that needs it, and ended with the app. ``function`` may have arguments of its
    own with ``depends``, and in the scope of a message one that is annotated
    :class:`~mqkit.Delivery`.

    Raises :exc:`~mqkit.errors.ConfigurationError` for what is no function, and another scope.
    """
    if not callable(function):
        raise ConfigurationError(f"depends({function!r:.80}): expected a function")
    try:
        return Dependency(function, Scope(scope))
    except ValueError:
        raise ConfigurationError(f'scope={scope!r}: expected "message" or "app"') from None
