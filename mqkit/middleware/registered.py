"""The middleware that an app has, taken when a client is made."""

from __future__ import annotations

import inspect
from functools import partial

from mqkit.consumer.handler import WrapHandler
from mqkit.errors import ConfigurationError
from mqkit.middleware.around import HandleMiddleware, PublishMiddleware
from mqkit.middleware.surrounded_handler import SurroundedHandler
from mqkit.middleware.surrounded_publisher import Publishes, SurroundedPublisher
from mqkit.middleware.tracing import Broker, Call, Tracing


class Middleware:
    """Middleware of both kinds, outermost first. Where there is none, nothing is in between."""

    def __init__(self) -> None:
        self._publish: list[PublishMiddleware] = []
        self._handle: list[HandleMiddleware] = []
        self.tracing: Tracing | None = None
        """Puts spans around the app, outside of all middleware; ``None`` where nothing does."""
        self.is_taken = False
        """True while a client runs, which has taken what there was."""

    def add_publish(self, middleware: PublishMiddleware) -> None:
        """Raises :exc:`~mqkit.errors.ConfigurationError` for what is not async, and when it is too
        late."""
        self._check(middleware)
        self._publish.append(middleware)

    def add_handle(self, middleware: HandleMiddleware) -> None:
        """As :meth:`add_publish`."""
        self._check(middleware)
        self._handle.append(middleware)

    def trace(self, tracing: Tracing) -> None:
        """Raises :exc:`~mqkit.errors.ConfigurationError` for a second one, and when it is too
        late."""
        self._check_time()
        if self.tracing is not None:
            raise ConfigurationError("the app is traced already")
        self.tracing = tracing

    def around_publisher(self, publisher: Publishes, broker: Broker) -> Publishes:
        """``publisher`` with the middleware around it, and tracing around that; itself where there
        is neither."""
        if self._publish:
            publisher = SurroundedPublisher(publisher, self._publish)
        return self.tracing.around_publisher(publisher, broker) if self.tracing else publisher

    def around_call(self, call: Call, broker: Broker) -> Call:
        """``call`` with tracing around it; itself where there is none."""
        return self.tracing.around_call(call, broker) if self.tracing else call

    @property
    def around_handler(self) -> WrapHandler | None:
        """Puts the middleware around a handler; ``None`` where there is none."""
        if not self._handle:
            return None
        return partial(SurroundedHandler, around=tuple(self._handle))

    def _check(self, middleware: object) -> None:
        if not _is_async(middleware):
            raise ConfigurationError(
                f"{middleware!r:.80} can't be middleware: expected an async def, which awaits what"
                " it is given as its second argument"
            )
        self._check_time()

    def _check_time(self) -> None:
        if self.is_taken:
            raise ConfigurationError("the app runs already: register middleware before it")


def _is_async(middleware: object) -> bool:
    """True for an ``async def``, and for an object with an ``async def __call__``."""
    call = None if inspect.isclass(middleware) else getattr(middleware, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(middleware) or inspect.iscoroutinefunction(call)
