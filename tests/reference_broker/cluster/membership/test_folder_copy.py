"""folder_copy: the metadata in the log of a node, as far as a later start may need it."""

from __future__ import annotations

import pytest

from reference_broker.cluster.coordinator import Event, Row
from reference_broker.cluster.membership.folder_copy import (
    CopiedMetadata,
    FolderCopy,
    copy_in,
    proposals_in,
)
from reference_broker.cluster.membership.seen_metadata import SeenMetadata
from reference_broker.cluster.metadata.proposal import SeenProposal
from reference_broker.cluster.metadata.view import View
from reference_broker.core.work.budget import DECLARATION_UNITS, Budget
from reference_broker.errors import Corrupt

QUEUE = "def/queue/%2F/q"


class Folder:
    """A log, as far as definitions are concerned; ``written`` are the keys in their order."""

    def __init__(self, found: dict[str, bytes] | None = None, history: int = 0) -> None:
        self.definitions = dict(found or {})
        self.written: list[str] = []
        self.view = View()
        self.copy = FolderCopy(self, self.view)
        self.copy.begin(history, dict(self.definitions))

    def define(self, key: str, value: bytes | None) -> None:
        self.written.append(key)
        if value is None:
            self.definitions.pop(key, None)
        else:
            self.definitions[key] = value

    def see(self, *events: Event) -> None:
        assert list(self.view.take(events)) == []
        self.view.reach(events[-1].revision)

    def copied(self) -> CopiedMetadata:
        found = copy_in(self.definitions)
        assert found is not None
        return found


def _event(key: str, revision: int, *, created: int = 0, lease: int = 0) -> Event:
    return Event(key, key.encode(), revision, lease, created or revision)


def test_what_is_in_the_view_is_in_the_folder_and_the_revision_before_it() -> None:
    folder = Folder()
    folder.see(_event("cluster", 1), _event(QUEUE, 2))
    assert folder.written == [
        "cluster_node/seen",
        "cluster_copy/cluster",
        "cluster_node/seen",
        f"cluster_copy/{QUEUE}",
    ]
    assert folder.copied() == CopiedMetadata(
        SeenMetadata(0, 2),
        (Row("cluster", b"cluster", 1, 0, 1), Row(QUEUE, QUEUE.encode(), 2, 0, 2)),
    )
    folder.see(_event(QUEUE, 3, created=2))
    folder.see(Event("cluster", None, 4))
    assert folder.copied() == CopiedMetadata(
        SeenMetadata(0, 4), (Row(QUEUE, QUEUE.encode(), 3, 0, 2),)
    )


def test_a_folder_that_has_seen_nothing_has_no_copy() -> None:
    assert copy_in({"queue/%2F/q": b""}) is None


def test_the_numbers_of_proposals_are_in_it() -> None:
    folder = Folder()
    folder.see(Event("proposals/a", b"3 17", 9, 0, 4))
    folder.see(_event(QUEUE, 10))
    assert proposals_in(folder.definitions) == {"a": SeenProposal(4, 3, 17)}


def test_what_goes_with_a_node_is_left_out() -> None:
    folder = Folder()
    folder.see(
        _event("live/a", 2, lease=7),
        _event("def/queue/%2F/exclusive", 4, lease=7),
    )
    folder.see(Event("def/queue/%2F/exclusive", None, 5), Event("live/a", None, 5))
    assert folder.written == []


def test_what_the_folder_has_is_not_written_again() -> None:
    first = Folder()
    first.see(_event("cluster", 1), _event(QUEUE, 2), _event("def/queue/%2F/gone", 3))
    again = Folder(first.definitions)
    again.see(_event("cluster", 1), _event(QUEUE, 2), _event("def/queue/%2F/new", 5))
    assert again.written == ["cluster_node/seen", "cluster_copy/def/queue/%2F/new"]
    assert list(again.copy.tidied(Budget(1_000_000))) == []
    assert [row.key for row in again.copied().rows] == ["cluster", QUEUE, "def/queue/%2F/new"]
    assert again.copied().seen == SeenMetadata(0, 5)


def test_copies_of_what_has_gone_are_removed_in_portions() -> None:
    first = Folder()
    first.see(*(_event(f"def/queue/%2F/{number}", 2) for number in range(10)))
    again, budget = Folder(first.definitions), Budget(4 * DECLARATION_UNITS)
    portions = []
    for _ in again.copy.tidied(budget):
        portions.append(len(again.copied().rows))
        budget.refill()
    assert portions == [6, 2]
    assert again.copied().rows == ()


def test_another_history_begins_with_its_own_revisions() -> None:
    first = Folder()
    first.see(_event(QUEUE, 80))
    again = Folder(first.definitions, history=1)
    again.see(_event(QUEUE, 3))
    assert again.copied() == CopiedMetadata(
        SeenMetadata(1, 3), (Row(QUEUE, QUEUE.encode(), 3, 0, 3),)
    )


def test_a_copy_that_is_cut_off_is_corrupt() -> None:
    folder = Folder()
    folder.see(_event(QUEUE, 2))
    folder.definitions[f"cluster_copy/{QUEUE}"] = b"short"
    with pytest.raises(Corrupt, match="the copy of 'def/queue"):
        copy_in(folder.definitions)
