"""Registering middleware: what can be middleware, and when."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit import App, ConfigurationError
from mqkit.middleware import Middleware


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
