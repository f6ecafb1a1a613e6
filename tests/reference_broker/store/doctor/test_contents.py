"""Reading all messages of a folder, one after another."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.store.doctor.contents import look, stored_messages
from reference_broker.store.format.record import CHUNK_BYTES

A, B = 7, 8


def test_each_message_comes_once_for_each_queue_in_log_order(closed_disk: Any) -> None:
    recovered = look(closed_disk)
    found = list(stored_messages(closed_disk, recovered))
    assert [each.position for each in found] == sorted(each.position for each in found)
    assert len({(each.queue_id, each.sequence) for each in found}) == len(found)
    shared = [
        each for each in found if each.content and bytes(each.content.body).startswith(b"to both")
    ]
    assert {each.queue_id for each in shared} == {A, B}
    for each in found:
        assert each.content is not None
        assert closed_disk.files[each.file].find(each.content.body, each.offset) > 0


def test_only_the_queues_that_are_wanted(closed_disk: Any) -> None:
    recovered = look(closed_disk)
    wanted = [
        (each.position, each.sequence)
        for each in stored_messages(closed_disk, recovered)
        if each.queue_id == B
    ]
    found = stored_messages(closed_disk, recovered, {B})
    assert [(each.position, each.sequence) for each in found] == wanted
    assert not list(stored_messages(closed_disk, recovered, ()))


def test_an_unreadable_message_says_why_and_the_others_come(closed_disk: Any) -> None:
    before = len(list(stored_messages(closed_disk, look(closed_disk))))
    file = next(each for each in closed_disk.segments if b"to one" in closed_disk.files[each])
    closed_disk.flip(file, closed_disk.files[file].index(b"to one"))
    found = list(stored_messages(closed_disk, look(closed_disk)))
    assert len(found) == before
    (bad,) = [each for each in found if each.content is None]
    assert "checksum" in bad.reason


def test_a_large_message_is_put_together(new_store: Any) -> None:
    store = new_store()
    body = bytes(range(256)) * (CHUNK_BYTES // 256 * 2 + 1)
    store.publish(body, A)
    store.sync()
    (found,) = stored_messages(store.disk, look(store.disk))
    assert found.content is not None
    assert found.content.body == body


def test_what_was_handed_out_before_a_crash_is_redelivered(
    open_disk: Any, closed_disk: Any
) -> None:
    for disk, redelivered in ((open_disk, True), (closed_disk, False)):
        found = stored_messages(disk, look(disk))
        assert {each.redelivered for each in found} == {redelivered}


def test_a_rewritten_segment_without_a_header_reaches_to_the_next_one(
    closed_disk: Any, read_back: Any
) -> None:
    before = read_back(closed_disk)
    closed_disk.flip(closed_disk.segments[0], 5)
    assert read_back(closed_disk) == before


def test_a_file_that_is_gone_is_an_error(closed_disk: Any) -> None:
    recovered = look(closed_disk)
    del closed_disk.files[closed_disk.segments[0]]
    with pytest.raises(FileNotFoundError):
        list(stored_messages(closed_disk, recovered))
