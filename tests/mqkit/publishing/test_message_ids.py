from __future__ import annotations

import os
from uuid import RFC_4122, UUID

from mqkit.message import Message
from mqkit.publishing.message_ids import identified, new_message_id


def test_ids_are_random_uuids_and_all_different() -> None:
    ids = [new_message_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    uuids = [UUID(each) for each in ids]
    assert {(each.version, each.variant) for each in uuids} == {(4, RFC_4122)}
    assert [each.hex for each in uuids] == ids


def test_a_child_process_has_ids_of_its_own() -> None:
    new_message_id()  # there are more where it came from
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, new_message_id().encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reader, 100).decode()
    os.close(reader)
    os.close(writer)
    assert len(theirs) == 32
    assert theirs != new_message_id()


def test_a_message_gets_an_id_and_stays_as_it_is_otherwise() -> None:
    bare = Message("x", "k", b"body")
    first, second = identified(bare), identified(bare)
    assert first.properties.message_id != second.properties.message_id
    assert (first.exchange, first.routing_key, first.body) == ("x", "k", b"body")
