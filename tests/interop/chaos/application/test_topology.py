"""The app's topology has exactly the queues that the run deletes and the checker empties."""

from __future__ import annotations

from pathlib import Path

from interop.chaos.application.topology import write_topology
from interop.chaos.layout import EXCHANGE, NARROW, all_queues
from mqkit.declaration import Exchange, Queue
from mqkit.topology import compile_topology, load


def test_it_has_the_queues_of_the_layout(tmp_path: Path) -> None:
    declared = list(compile_topology(load(str(write_topology(tmp_path)))))
    queues = {each.name: each for each in declared if isinstance(each, Queue)}
    assert set(queues) == set(all_queues())
    assert EXCHANGE in {each.name for each in declared if isinstance(each, Exchange)}
    assert queues[NARROW].arguments["x-overflow"] == "reject-publish"
