"""__main__: the figures of the seeds, and the exit status."""

from __future__ import annotations

import pytest

from reference_broker.simulation.cluster.__main__ import main
from reference_broker.simulation.cluster.world import ClusterResult, ClusterWorld

pytestmark = [pytest.mark.live, pytest.mark.slow]


def test_figures_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "2", "--jobs", "1"]) == 0
    printed = capsys.readouterr().out
    assert "2  whole at the end" in printed
    assert printed.endswith("2 cluster seeds, 0 failed\n")


def test_a_broken_law_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        ClusterWorld, "run", lambda self: ClusterResult(self.seed, "a law was broken")
    )
    assert main(["--first", "7", "--seeds", "1", "--jobs", "1"]) == 1
    assert "seed 7: a law was broken" in capsys.readouterr().err
