"""mqkit.testing.cluster: nodes that are killed, stopped, paused and started, and nothing left."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import httpx
import pytest

import mqkit.testing
from mqkit.testing import ClusterUnavailable

NEEDS_ETCD = pytest.mark.skipif(shutil.which("etcd") is None, reason="there is no etcd here")

pytestmark = pytest.mark.live


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of this test's temporary folders."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def _processes_in(folder: Path) -> list[str]:
    lines = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line:
            lines.append(line)
    return lines


@NEEDS_ETCD
def test_a_cluster_of_two_whose_nodes_go_and_come_and_nothing_is_left(folders: Path) -> None:
    with mqkit.testing.cluster(nodes=2) as cluster:
        assert list(cluster.nodes) == ["a", "b"]
        assert len(set(cluster.urls)) == len(set(cluster.management_urls)) == 2
        assert len(_processes_in(folders)) == 3  # and etcd
        cluster.kill("b")
        cluster.kill("b")
        assert cluster["b"].has_ended()
        with pytest.raises(RuntimeError, match="'b' is not running: start it"):
            assert cluster["b"].pid
        cluster.start()
        assert cluster["b"].ready_line.endswith("cluster=test node=mqkit@b members=2")
        for url in cluster.management_urls:
            assert httpx.get(f"{url}/api/overview").status_code == 200
        cluster.pause("b")
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(f"{cluster['b'].management_url}/api/overview", timeout=0.2)
        cluster.resume("b")
        cluster.stop()
    assert _processes_in(folders) == []
    assert list(folders.iterdir()) == []


@NEEDS_ETCD
def test_a_node_that_does_not_start_says_why(folders: Path) -> None:
    options = ("--data-dir", "/etc/passwd")
    with (
        pytest.raises(ClusterUnavailable, match=r"node 'a' did not start.*/etc/passwd"),
        mqkit.testing.cluster(nodes=1, options=options),
    ):
        pytest.fail("it has started")
    assert _processes_in(folders) == []


def test_without_etcd_there_is_none(folders: Path) -> None:
    with (
        pytest.raises(ClusterUnavailable, match="there is no etcd on this machine"),
        mqkit.testing.cluster(environ={"PATH": ""}),
    ):
        pytest.fail("it has started")
    assert list(folders.iterdir()) == []


def test_a_cluster_has_a_node_and_not_many() -> None:
    with pytest.raises(ValueError, match="1 to 6 nodes, and not 7"), mqkit.testing.cluster(nodes=7):
        pytest.fail("it has started")
