"""folder_mark: the cluster and the node of a data folder, in its log."""

from __future__ import annotations

import pytest

from reference_broker.cluster.membership.folder_mark import (
    KEY,
    FolderMark,
    encode_mark,
    mark_in,
)
from reference_broker.core.definition_kinds import refuse_unknown_kinds
from reference_broker.errors import ClusterRefused, Corrupt

MARK = FolderMark("c1", "node ä", "d1")


def test_a_mark_is_read_as_it_was_written() -> None:
    assert mark_in({KEY: encode_mark(MARK), "queue/%2F/q": b""}) == MARK


def test_a_folder_that_was_in_no_cluster_has_none() -> None:
    assert mark_in({"queue/%2F/q": b""}) is None


@pytest.mark.parametrize(
    "value",
    [b"", b"\x02", b"\x01\x00", encode_mark(MARK)[:-1], encode_mark(MARK) + b"x"],
)
def test_another_value_is_corrupt(value: bytes) -> None:
    with pytest.raises(Corrupt, match="mark of the folder"):
        mark_in({KEY: value})


def test_a_broker_on_its_own_refuses_the_folder_in_a_line() -> None:
    with pytest.raises(ClusterRefused, match="start it with --cluster-name"):
        refuse_unknown_kinds([KEY], "1.0")
