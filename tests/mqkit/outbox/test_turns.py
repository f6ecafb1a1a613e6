"""Turns: one relay on a partition at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from mqkit.errors import ConfigurationError
from mqkit.outbox.database import AnyEngine, Database
from mqkit.outbox.tables import metadata
from mqkit.outbox.turns import LOCK_SUFFIX, PARTITIONS_AT_ONCE, turns_of
from mqkit.outbox.writing import publish

pytestmark = pytest.mark.anyio


async def fill(engine: AnyEngine, *keys: str) -> None:
    def put(connection: Any) -> None:
        with Session(connection) as session:
            for key in keys:
                publish(session, "", "orders", b"", ordering_key=key)
            session.flush()

    await Database(engine).run(put)


async def test_two_relays_never_have_one_partition(engine: AnyEngine) -> None:
    await fill(engine, *map(str, range(200)))
    one, two = turns_of(Database(engine)), turns_of(Database(engine))
    try:
        async with one.turn(set()) as first, two.turn(set()) as second:
            assert first.partitions
            assert not set(first.partitions) & set(second.partitions)
            if engine.dialect.name == "postgresql":
                assert len(first.partitions) == PARTITIONS_AT_ONCE
                assert second.partitions
            else:
                assert list(second.partitions) == []
        one.close()
        async with two.turn(set()) as second:
            assert second.partitions
    finally:
        one.close()
        two.close()


async def test_a_turn_is_at_partitions_that_have_work_and_do_not_rest(engine: AnyEngine) -> None:
    turns = turns_of(Database(engine))
    try:
        async with turns.turn(set()) as turn:
            assert list(turn.partitions) == []
        await fill(engine, "a", "b")
        async with turns.turn(set()) as turn:
            found = set(turn.partitions)
        assert len(found) == 2
        resting = {min(found)}
        async with turns.turn(resting) as turn:
            assert set(turn.partitions) == found - resting
        async with turns.turn(range(64)) as turn:
            assert list(turn.partitions) == []
    finally:
        turns.close()


async def test_the_lock_of_a_sqlite_file_stands_beside_it_and_memory_is_refused(
    tmp_path: Path,
) -> None:
    engine = create_engine(f"sqlite:///file:{tmp_path / 'a.db'}?uri=true")
    metadata.create_all(engine)
    turns = turns_of(Database(engine))
    async with turns.turn(set()):
        pass
    turns.close()
    engine.dispose()
    assert set(os.listdir(tmp_path)) == {"a.db", f"a.db{LOCK_SUFFIX}"}
    for memory in ("sqlite://", "sqlite:///:memory:", "sqlite:///file::memory:?uri=true"):
        with pytest.raises(ConfigurationError, match="in memory"):
            turns_of(Database(create_engine(memory)))
