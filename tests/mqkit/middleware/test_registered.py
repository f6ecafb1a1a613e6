"""Registering middleware: what can be middleware, and when."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit import App, ConfigurationError
from mqkit.middleware import Middleware, SurroundedPublisher


class Asynchronous:
    async def __call__(self, message: Any, publish: Any) -> Any: ...


async def a_function(message: Any, publish: Any) -> Any: ...


@pytest.mark.parametrize("middleware", [a_function, Asynchronous(), Asynchronous().__call__])
def test_what_is_async_can_be_middleware(middleware: Any) -> None:
    registered = Middleware()
    registered.add_publish(middleware)
    registered.add_handle(middleware)
    assert registered.around_handler is not None


def test_it_is_taken_when_the_app_is_entered() -> None:
    registered = Middleware()
    registered.is_taken = True
    with pytest.raises(ConfigurationError, match="runs already"):
        registered.add_handle(a_function)


@pytest.mark.parametrize("wrong", [lambda message, publish: None, Asynchronous, None, "x"])
def test_what_is_not_is_refused(wrong: Any) -> None:
    app = App("amqp://127.0.0.1/")
    for register in (app.around_publish, app.around_handle):
        with pytest.raises(ConfigurationError, match="can't be middleware"):
            register(wrong)


class Spans:
    """A tracing that puts itself around everything."""

    def around_publisher(self, publisher: Any, broker: Any) -> Any:
        return ("traced", publisher)

    def around_call(self, call: Any, broker: Any) -> Any:
        return ("traced", call)

    def around_attempts(self, queue: str, broker: Any, *, is_temporary: bool = False) -> Any:
        raise AssertionError("nothing is consumed")


def test_tracing_is_outside_of_the_middleware() -> None:
    registered = Middleware()
    publisher: Any = object()
    assert registered.around_publisher(publisher, lambda: None) is publisher
    call: Any = object()
    assert registered.around_call(call, lambda: None) is call
    registered.trace(Spans())
    registered.add_publish(a_function)
    outermost: Any = registered.around_publisher(publisher, lambda: None)
    assert outermost[0] == "traced"
    assert isinstance(outermost[1], SurroundedPublisher)
    traced: Any = registered.around_call(call, lambda: None)
    assert traced == ("traced", call)


def test_an_app_is_traced_once_and_before_it_runs() -> None:
    registered = Middleware()
    registered.trace(Spans())
    with pytest.raises(ConfigurationError, match="traced already"):
        registered.trace(Spans())
    late = Middleware()
    late.is_taken = True
    with pytest.raises(ConfigurationError, match="runs already"):
        late.trace(Spans())
