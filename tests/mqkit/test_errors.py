"""mqkit.errors: they keep what they know, also across processes."""

from __future__ import annotations

import copy
import pickle

import pytest

from mqkit.errors import BrokerError, ChannelError, ConnectionRefused, MqkitError, Scope


@pytest.mark.parametrize("kind", [ChannelError, ConnectionRefused])
def test_a_refusal_survives_pickling(kind: type[BrokerError]) -> None:
    error = kind(404, "NOT_FOUND - no queue 'q' in vhost '/'", 50, 10)
    for copied in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(copied) is kind
        assert (copied.reply_code, copied.reply_text) == (404, error.reply_text)
        assert (copied.class_id, copied.method_id) == (50, 10)
        assert str(copied) == str(error)


def test_the_scope_is_what_was_closed() -> None:
    assert ChannelError(404, "gone").scope is Scope.CHANNEL
    assert ConnectionRefused(530, "no vhost").scope is Scope.CONNECTION


def test_one_clause_catches_everything() -> None:
    with pytest.raises(MqkitError):
        raise ChannelError(406, "PRECONDITION_FAILED")
