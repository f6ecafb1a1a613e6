"""Names of what is temporary."""

from __future__ import annotations

from mqkit.topology.migration.names import (
    NAME_BYTES_MAX,
    gate_name,
    inlet_name,
    is_too_long,
    lock_name,
    outlet_name,
    temporary_name,
)

ALL = (temporary_name, inlet_name, outlet_name, gate_name, lock_name)


def test_each_name_is_of_its_own_and_begins_with_the_queues() -> None:
    names = [name("orders") for name in ALL]
    assert len(set(names)) == len(ALL)
    assert all(name.startswith("orders.migrating") for name in names)


def test_the_longest_queue_that_fits() -> None:
    suffix = max(len(name("")) for name in ALL)
    longest = "q" * (NAME_BYTES_MAX - suffix)
    assert not is_too_long(longest)
    assert is_too_long(longest + "q")
    assert is_too_long("é" * (len(longest) // 2 + 1))
