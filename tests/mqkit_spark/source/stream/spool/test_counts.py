"""The counts of what was read."""

from __future__ import annotations

import json

from mqkit_spark.source.stream.spool.counts import Counts, text_of, total


def test_they_add_up_and_survive_a_file() -> None:
    one = Counts(1, 2, 3, 4, 5)
    assert total([one, one]) == Counts(2, 4, 6, 8, 10)
    assert total([]) == Counts()
    assert Counts.from_json(json.loads(text_of(one))) == one
    assert Counts.from_json({"rows": 7}) == Counts(rows=7)
