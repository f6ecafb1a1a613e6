"""seen_metadata: metadata that lacks what a folder has seen is refused."""

from __future__ import annotations

import pytest

from reference_broker.cluster.membership.records import ClusterRecord
from reference_broker.cluster.membership.seen_metadata import (
    KEY,
    SeenMetadata,
    encode_seen,
    require_later,
    seen_in,
)
from reference_broker.errors import ClusterRefused, Corrupt


def _cluster(history: int = 0, restored_from: int = 0) -> ClusterRecord:
    return ClusterRecord("c1", 1, "f00", 0, history, restored_from)


def test_it_is_read_as_it_was_written() -> None:
    seen = SeenMetadata(2, 1 << 40)
    assert seen_in({KEY: encode_seen(seen)}) == seen
    assert seen_in({}) is None


@pytest.mark.parametrize("value", [b"", b"\x01", encode_seen(SeenMetadata(0, 1)) + b"x"])
def test_another_value_is_corrupt(value: bytes) -> None:
    with pytest.raises(Corrupt, match="the revision that the folder has seen"):
        seen_in({KEY: value})


@pytest.mark.parametrize(
    ("seen", "cluster", "revision"),
    [
        (SeenMetadata(0, 80), _cluster(), 80),
        (SeenMetadata(3, 80), _cluster(3, 900), 81),
        (SeenMetadata(0, 80), _cluster(1, 80), 3),
        (SeenMetadata(2, 70), _cluster(3, 80), 3),
    ],
)
def test_metadata_that_has_it_all_is_fine(
    seen: SeenMetadata, cluster: ClusterRecord, revision: int
) -> None:
    require_later(seen, cluster, revision)


@pytest.mark.parametrize(
    ("seen", "cluster", "revision", "words"),
    [
        (SeenMetadata(0, 80), _cluster(), 79, "etcd is at revision 79, and .* has seen 80"),
        (SeenMetadata(1, 80), _cluster(1, 900), 79, "restored from an older copy"),
        (SeenMetadata(0, 81), _cluster(1, 80), 900, "restored from revision 80, history 0"),
        (SeenMetadata(0, 10), _cluster(2, 80), 900, "has seen revision 10, history 0"),
        (SeenMetadata(2, 10), _cluster(1, 80), 900, "has seen revision 10, history 2"),
    ],
)
def test_metadata_that_lacks_some_is_refused(
    seen: SeenMetadata, cluster: ClusterRecord, revision: int, words: str
) -> None:
    with pytest.raises(ClusterRefused, match=words):
        require_later(seen, cluster, revision)
