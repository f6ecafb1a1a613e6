"""Every target over its own seeds, and over seeds that were damaged: what Atheris does for long."""

from __future__ import annotations

import random
import secrets

import pytest

from fuzz.targets import TARGETS

ROUNDS = 60


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_a_target_holds_for_its_seeds_and_for_damaged_ones(name: str) -> None:
    target = TARGETS[name]
    seed = secrets.randbits(32)
    print(f"random seed {seed}")
    dice = random.Random(seed)
    seeds = list(target.seeds())
    for data in seeds:
        target.check(data)
    for _ in range(ROUNDS):
        damaged = bytearray(dice.choice(seeds))
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(damaged) + 1)
            damaged[at : at + dice.randint(0, 2)] = dice.randbytes(dice.randint(0, 3))
        target.check(bytes(damaged))
        target.check(dice.randbytes(dice.randint(0, 60)))
