from __future__ import annotations

import pytest

from mqkit.errors import ConfigurationError
from mqkit.transport.choice import TRANSPORT_VARIABLE
from mqkit.transport.native import NativeTransport
from mqkit.transport.over_aio_pika.adapter import AioPikaTransport
from mqkit_cli.amqp import transport


def test_the_environment_says_which_one_or_else_it_is_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(TRANSPORT_VARIABLE, raising=False)
    assert isinstance(transport(), NativeTransport)
    monkeypatch.setenv(TRANSPORT_VARIABLE, "aio-pika")
    assert isinstance(transport(), AioPikaTransport)


def test_a_name_that_there_is_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRANSPORT_VARIABLE, "rabbit")
    with pytest.raises(ConfigurationError, match="no transport 'rabbit'"):
        transport()
