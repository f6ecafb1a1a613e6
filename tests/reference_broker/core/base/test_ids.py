"""identity: never the same twice, and the same again for the same seed."""

from __future__ import annotations

import re

import pytest

from reference_broker.core.base.ids import BLOCKS_MAX, MAX_IDS, Ids
from reference_broker.errors import ConnectionException, ReplyCode


def test_numbers_rise_over_restarts() -> None:
    before, after = Ids(3), Ids(4)
    numbers = [before.next(), before.next(), after.next()]
    assert numbers == [3 << 32 | 1, 3 << 32 | 2, 4 << 32 | 1]


def test_numbers_of_an_epoch_end_before_those_of_the_next() -> None:
    ids = Ids(3, given=MAX_IDS - 2)
    assert ids.next() == (4 << 32) - 1
    for _ in range(2):
        with pytest.raises(ConnectionException) as caught:
            ids.next()
        assert caught.value.code is ReplyCode.RESOURCE_ERROR


def test_ids_of_a_cluster_are_of_one_block_and_above_all_of_a_broker_on_its_own() -> None:
    ids, others = Ids(3), Ids(3)
    own = ids.next()
    ids.take_block(7)
    others.take_block(8)
    assert [ids.next(), ids.next()] == [(1 << 62) + (7 << 32) + 1, (1 << 62) + (7 << 32) + 2]
    assert own < ids.next() < others.next()
    others.take_block(BLOCKS_MAX)
    assert others.next() < 1 << 63


def test_tokens_look_like_rabbitmqs() -> None:
    ids = Ids(1, b"secret")
    tokens = [ids.token() for _ in range(1000)]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22}", token) for token in tokens)
    assert len(dict.fromkeys(tokens)) == 1000


def test_tokens_depend_on_epoch_and_secret_and_nothing_else() -> None:
    assert Ids(1, b"a").token() == Ids(1, b"a").token()
    assert Ids(1, b"a").token() != Ids(1, b"b").token()
    assert Ids(1, b"a").token() != Ids(2, b"a").token()
