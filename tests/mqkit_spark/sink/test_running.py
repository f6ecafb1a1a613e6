"""mqkit_spark.sink.running: speculation, and the ids that tell its duplicates."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit_spark.columns.schema import Columns
from mqkit_spark.options import MessageIds, SinkOptions
from mqkit_spark.sink.running import look_at_speculation

OPTIONS = SinkOptions(url="amqp://h/", exchange="x")
DEDUP = SinkOptions(url="amqp://h/", exchange="x", dedup=True)
AUTO = Columns(("body",), MessageIds.AUTO)
NONE = Columns(("body",), MessageIds.NONE)


def session(speculation: str | None) -> Any:
    """A session of which only the setting is asked."""
    settings = {} if speculation is None else {"spark.speculation": speculation}
    return SimpleNamespace(conf=settings)


@pytest.mark.parametrize("setting", ["true", "TRUE"])
def test_duplicates_are_warned_of_unless_the_queue_drops_them(setting: str) -> None:
    with pytest.warns(UserWarning, match="spark.speculation is on"):
        look_at_speculation(session(setting), OPTIONS, AUTO)
    with pytest.raises(ConfigurationError, match="nobody can tell; turn it off"):
        look_at_speculation(session(setting), OPTIONS, NONE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        look_at_speculation(session(setting), DEDUP, AUTO)


@pytest.mark.parametrize("setting", [None, "false"])
def test_without_speculation_nothing_is_said(setting: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        look_at_speculation(session(setting), OPTIONS, NONE)
