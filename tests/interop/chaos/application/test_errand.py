"""Errands: what messages ask of their handlers."""

from __future__ import annotations

import random
from collections import Counter

from interop.chaos.application.errand import Deed, Errand, a_deed


def test_every_deed_is_asked_for_and_most_are_plain() -> None:
    chance = random.Random(1)
    deeds = Counter(a_deed(chance) for _ in range(5_000))
    assert set(deeds) == set(Deed)
    assert deeds.most_common(1)[0][0] is Deed.DONE


def test_an_errand_survives_the_wire() -> None:
    errand = Errand(id="p1-0", deed=Deed.TIME_OUT)
    assert Errand.model_validate_json(errand.model_dump_json()) == errand
