from __future__ import annotations

import pytest

from mqkit.errors import ConfigurationError
from mqkit.transport.choice import TRANSPORTS, chosen
from mqkit.transport.native import NativeTransport
from mqkit.transport.over_aio_pika.adapter import AioPikaTransport


def test_a_transport_is_chosen_by_its_name() -> None:
    assert isinstance(chosen("native"), NativeTransport)
    assert isinstance(chosen("aio-pika"), AioPikaTransport)
    assert isinstance(chosen(None), NativeTransport)


def test_one_that_is_given_is_taken_as_it_is() -> None:
    given = NativeTransport()
    assert chosen(given) is given


def test_a_name_that_there_is_not_is_told_the_ones_there_are() -> None:
    with pytest.raises(ConfigurationError) as refused:
        chosen("rabbit")
    assert all(name in str(refused.value) for name in TRANSPORTS)
