from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reference_broker.store.format import record
from reference_broker.store.liveness.definitions import Definitions

CHANGES = st.lists(st.tuples(st.sampled_from("abc\u00e9"), st.none() | st.binary(max_size=9)))


@given(CHANGES)
def test_the_last_writer_wins_and_the_snapshot_size_is_exact(
    changes: list[tuple[str, bytes | None]],
) -> None:
    definitions = Definitions()
    expected: dict[str, bytes] = {}
    for key, value in changes:
        definitions.define(key, value)
        expected.pop(key, None) if value is None else expected.update({key: value})
    assert definitions.values == expected
    snapshot = record.encode_definitions(definitions.values)
    assert definitions.snapshot_bytes == record.FRAME_BYTES + len(snapshot)


@given(CHANGES, st.dictionaries(st.text(max_size=3), st.binary(max_size=9)))
def test_a_snapshot_replaces_what_was_there(
    changes: list[tuple[str, bytes | None]], snapshot: dict[str, bytes]
) -> None:
    definitions = Definitions()
    for key, value in changes:
        definitions.define(key, value)
    definitions.replace(snapshot)
    assert list(definitions.values.items()) == list(snapshot.items())
    encoded = record.encode_definitions(snapshot)
    assert definitions.snapshot_bytes == record.FRAME_BYTES + len(encoded)
