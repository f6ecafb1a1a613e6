"""mqkit_bench.startup: imports and brokers in new interpreters, and the table."""

from __future__ import annotations

import pytest

from mqkit_bench.startup import (
    BROKER_AGAIN,
    BROKER_FIRST,
    BROKER_IMPORT,
    HEADER,
    Start,
    Startup,
    import_once,
    start_brokers,
    table,
)
from mqkit_bench.worker import Worker


def test_an_import_counts_its_modules() -> None:
    start = import_once("import colorsys")
    assert start.modules == 1
    assert start.wall_s > 0


def test_an_import_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match="import no_such: ModuleNotFoundError: No module"):
        import_once("import no_such")


@pytest.mark.slow
def test_two_brokers_start_in_one_process() -> None:
    with Worker(start_brokers) as worker:
        starts = worker.report()
    assert set(starts) == {BROKER_IMPORT, BROKER_FIRST, BROKER_AGAIN}
    assert starts[BROKER_IMPORT].modules > 10
    assert starts[BROKER_AGAIN].modules == 0, "the first has loaded all that is needed"


def test_the_table_has_medians_and_what_is_not_installed() -> None:
    starts = [Start(0.010 * n, 0.001 * n, 7) for n in (1, 2, 9)]
    lines = table([Startup("import one", starts), Startup("import two")]).splitlines()
    assert {line.count("|") for line in lines} == {len(HEADER) + 1}
    assert lines[2:] == [
        "| `import one` | 20 ms (10-90) | 2 ms (1-9) | 7 |",
        "| `import two` | not installed | - | - |",
    ]
