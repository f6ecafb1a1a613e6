"""Spreading values evenly over 64 bits, the same on every machine and in every run.

Nothing here is hard to guess: it decides between queues, and protects nothing.
"""

from __future__ import annotations

import hashlib

BITS = 64
_MASK = (1 << BITS) - 1
_STEP = 0x9E3779B97F4A7C15
_DIGEST_BYTES = BITS // 8


def hash_of(octets: bytes) -> int:
    """A hash of any bytes."""
    return int.from_bytes(hashlib.blake2b(octets, digest_size=_DIGEST_BYTES).digest(), "big")


def mixed(number: int) -> int:
    """Every bit of the result depends on every bit of ``number`` (the finalizer of SplitMix64,
    https://prng.di.unimi.it/splitmix64.c)."""
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _MASK
    return number ^ number >> 31


class Draws:
    """Numbers that look random, as SplitMix64 makes them: the same for the same ``seed``, since the
    core has no randomness of its own (law 1)."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def below(self, end: int) -> int:
        """The next one, from 0 to ``end`` (not included)."""
        self._state = self._state + _STEP & _MASK
        return mixed(self._state) * end >> BITS
