"""mqkit.testing.etcd: members that are stopped, killed, paused and started, and nothing left."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import httpx
import pytest

import mqkit.testing
from mqkit.testing import Etcd, EtcdUnavailable, etcd

NEEDS_ETCD = pytest.mark.skipif(shutil.which("etcd") is None, reason="there is no etcd here")

pytestmark = pytest.mark.live

PUT = {"key": "YQ==", "value": "eA=="}


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of this test's temporary folders."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def put(etcd: Etcd, member: int) -> int:
    answer = httpx.post(etcd.endpoints[member] + "/v3/kv/put", json=PUT, timeout=20.0)
    return answer.status_code


def value(etcd: Etcd, member: int = 0) -> str:
    answer = httpx.post(etcd.endpoints[member] + "/v3/kv/range", json={"key": PUT["key"]})
    found: str = answer.json()["kvs"][0]["value"]
    return found


def processes_in(folder: Path) -> list[str]:
    """The commands of processes that have ``folder`` in them."""
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = command.read_text()
        except OSError:
            continue
        if str(folder) in line and line.partition("\0")[0].endswith("etcd"):
            found.append(line)
    return found


@NEEDS_ETCD
def test_one_member_keeps_its_data_through_a_stop_and_a_crash_and_leaves_nothing(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETCD_NAME", "somebody-else")
    with etcd() as one:
        assert repr(one) == f"Etcd({one.endpoints[0]})"
        assert put(one, 0) == 200
        one.stop()
        one.stop()
        with pytest.raises(httpx.ConnectError):
            put(one, 0)
        one.start()
        assert value(one) == PUT["value"]
        one.kill(0)
        one.start(0)
        one.start(0)
        assert value(one) == PUT["value"]
        assert len(processes_in(folders)) == 1
    assert processes_in(folders) == []
    assert list(folders.iterdir()) == []


@NEEDS_ETCD
def test_three_members_go_on_without_one(folders: Path) -> None:
    with etcd(members=3) as three:
        leader = three.leader()
        three.kill(leader)
        other = three.leader()
        assert other != leader
        assert put(three, other) == 200
        three.start(leader)
        assert value(three, leader) == PUT["value"]
        three.pause(leader)
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(three.endpoints[leader] + "/health", timeout=0.2)
        three.resume(leader)
        assert value(three, leader) == PUT["value"]
        three.pause()
        three.stop(leader)
    assert processes_in(folders) == []


@NEEDS_ETCD
def test_a_watch_with_nothing_to_tell_says_so(folders: Path) -> None:
    watch = {"create_request": {"key": "YQ==", "progress_notify": True}}
    with etcd(progress_every_s=0.1) as one:
        put(one, 0)
        with httpx.stream("POST", one.endpoints[0] + "/v3/watch", json=watch) as answer:
            lines = answer.iter_lines()
            assert '"created":true' in next(lines)
            assert '"revision":"2"' in next(lines)


def test_without_an_etcd_the_reason_is_told(folders: Path) -> None:
    with (
        pytest.raises(EtcdUnavailable, match="there is no etcd on this machine"),
        etcd(environ={"PATH": str(folders)}),
    ):
        raise AssertionError
    assert list(folders.iterdir()) == []


def test_an_etcd_that_ends_at_once_says_why_and_leaves_nothing(folders: Path) -> None:
    programs = folders / "bin"
    programs.mkdir()
    (programs / "etcd").write_text("#!/bin/sh\necho no space left\nexit 1\n")
    (programs / "etcd").chmod(0o755)
    with (
        pytest.raises(EtcdUnavailable, match="etcd did not start: no space left"),
        etcd(environ={"PATH": str(programs)}),
    ):
        raise AssertionError
    assert [path.name for path in folders.iterdir()] == ["bin"]


def test_it_is_public() -> None:
    assert mqkit.testing.etcd is etcd
    assert {"Etcd", "EtcdUnavailable", "etcd"} <= set(mqkit.testing.__all__)
