from __future__ import annotations

import pytest

from reference_broker.simulation.machine.stamps import Part, Stamps


def test_each_octet_keeps_its_stamp_however_all_is_cut() -> None:
    stamps = Stamps()
    stamps.put(Part(5, 1))
    stamps.put(Part(1, 4))
    stamps.put(Part(6, 9))
    assert stamps.take(3) == [Part(3, 1)]
    assert stamps.take(5) == [Part(2, 1), Part(1, 4), Part(2, 9)]
    assert stamps.take(0) == []
    stamps.put(Part(1, 10))
    assert stamps.take(5) == [Part(4, 9), Part(1, 10)]


def test_no_octet_has_a_stamp_that_it_was_not_given() -> None:
    stamps = Stamps()
    stamps.put(Part(2, 1))
    with pytest.raises(IndexError):
        stamps.take(3)
