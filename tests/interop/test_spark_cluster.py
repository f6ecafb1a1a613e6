"""A standalone cluster, started and gone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from interop.spark_cluster import ClusterFailed, started_cluster

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java on this machine")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_cluster_has_its_workers_and_leaves_nothing(folders: Path) -> None:
    with started_cluster(workers=1) as cluster:
        assert cluster.url.startswith("spark://127.0.0.1:")
        (worker,) = cluster.workers
        assert worker.poll() is None
        assert len(list(folders.glob("mqkit-cluster-*"))) == 1
    assert worker.poll() is not None
    assert list(folders.glob("mqkit-cluster-*")) == []


def test_a_cluster_that_does_not_start_says_why(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(folders / "no-java"))
    with pytest.raises(ClusterFailed, match=r"(?s)master: .*no-java"), started_cluster():
        pass
    assert list(folders.glob("mqkit-cluster-*")) == []
