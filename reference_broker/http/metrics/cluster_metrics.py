"""The metrics of a node of a cluster, which its runtime gives: a broker on its own has none, and
nothing of a cluster is known here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from prometheus_client import Metric


class Sample(Protocol):
    """One value; its name is as scrapers see it."""

    @property
    def name(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, str]: ...

    @property
    def value(self) -> float: ...


class Family(Protocol):
    """A metric. ``kind`` is ``gauge``, ``counter`` or ``summary``."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def help(self) -> str: ...

    @property
    def samples(self) -> Iterable[Sample]: ...


class Families(Protocol):
    """Whoever has the metrics."""

    def families(self) -> Iterator[Family]:
        """All of them, as they are now; no name comes twice. A few samples for each member."""
        ...


def cluster_metrics(given: Families | None) -> Iterator[Metric]:
    """The metrics that are given; nothing for ``None``."""
    if given is None:
        return
    for family in given.families():
        name = family.name
        metric = Metric(
            name.removesuffix("_total") if family.kind == "counter" else name,
            family.help,
            family.kind,
        )
        for sample in family.samples:
            metric.add_sample(sample.name, dict(sample.labels), sample.value)
        yield metric
