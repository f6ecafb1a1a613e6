"""mqkit.sync.plain: plain functions, and objects that are called as one."""

from __future__ import annotations

import pytest

from mqkit.errors import ConfigurationError
from mqkit.sync.plain import check_plain


class Plain:
    def __call__(self, body: bytes) -> None: ...


class Asynchronous:
    async def __call__(self, body: bytes) -> None: ...


def test_what_is_called_in_a_thread_passes() -> None:
    check_plain(print, "handlers")
    check_plain(Plain(), "handlers")
    check_plain(Plain().__call__, "handlers")


def test_an_object_with_an_async_call_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"Asynchronous is async def, .*as middl"):
        check_plain(Asynchronous(), "middleware")
