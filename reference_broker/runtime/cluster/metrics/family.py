"""A family of samples: one metric, with a value for each of its labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

_PREFIX = "mqkit_cluster_"

Labels = Mapping[str, str]
Kind = Literal["gauge", "counter", "summary"]


class Sample(NamedTuple):
    """One value."""

    name: str
    labels: Labels
    value: float


class Family(NamedTuple):
    """A metric, as scrapers see it: the ``name`` of a counter ends in ``_total``, the samples of a
    summary have the suffixes ``_count`` and ``_sum``. ``help`` says the unit."""

    name: str
    kind: Kind
    help: str
    samples: Sequence[Sample]


def gauge(name: str, text: str, values: Iterable[tuple[Labels, float]]) -> Family:
    """A value that rises and falls, by labels."""
    return _family(name, "gauge", text, values)


def counter(name: str, text: str, values: Iterable[tuple[Labels, float]]) -> Family:
    """A number that only rises, by labels; ``name`` ends in ``_total``."""
    return _family(name, "counter", text, values)


def summary(name: str, text: str, values: Iterable[tuple[Labels, int, float]]) -> Family:
    """The number of observations and their sum, by labels."""
    whole = _PREFIX + name
    samples = []
    for labels, count, total in values:
        samples += [Sample(whole + "_count", labels, count), Sample(whole + "_sum", labels, total)]
    return Family(whole, "summary", text, samples)


def of_peer(node: str, **more: str) -> Labels:
    """The labels of what has to do with another node, under the name that its broker has."""
    return {"peer": f"mqkit@{node}", **more}


def _family(name: str, kind: Kind, text: str, values: Iterable[tuple[Labels, float]]) -> Family:
    whole = _PREFIX + name
    return Family(whole, kind, text, [Sample(whole, labels, value) for labels, value in values])
