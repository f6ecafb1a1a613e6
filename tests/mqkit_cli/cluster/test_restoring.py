"""`mqkit cluster restore-metadata`: whom it refuses, and that it asks. Its work on an etcd is in
tests/reference_broker/runtime/cluster/test_restoration.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mqkit_cli.app import app
from mqkit_cli.errors import CommandError
from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.membership.folder_copy import FolderCopy
from reference_broker.cluster.metadata.view import View
from reference_broker.runtime.disk.data_folder import DataFolder
from reference_broker.store import open_log

NOBODY_LISTENS = "http://127.0.0.1:1"


class NoMessages:
    """The queues of a log, of which there is none."""

    def live_entries(self, queue_id: int, start: int, end: int) -> Iterator[Any]:
        yield from ()


def _folder(directory: Path, *, of_cluster: bool = True) -> str:
    disk = DataFolder(directory)
    log, _ = open_log(disk)
    log.attach(NoMessages())
    if of_cluster:
        view = View()
        FolderCopy(log, view).begin(0, {})
        list(view.take([Event("cluster", b"{}", 7, 0, 7)]))
    log.close()
    while (batch := log.take_batch()) is not None:
        for operation in batch.operations:
            disk.perform(operation)
        log.batch_synced(batch)
    disk.close()
    return str(directory)


def _run(folder: str, *words: str, answer: str | None = None) -> tuple[str, str]:
    """The output, and the error that it ends with."""
    given = [folder, "--cluster-name", "prod", "--etcd", NOBODY_LISTENS, *words]
    done = CliRunner().invoke(app, ["cluster", "restore-metadata", *given], input=answer)
    assert isinstance(done.exception, CommandError)
    return done.output, str(done.exception)


def test_a_folder_that_was_never_a_nodes_has_nothing_to_restore(tmp_path: Path) -> None:
    _, error = _run(_folder(tmp_path / "data", of_cluster=False))
    assert "was never the data folder of a node of a cluster" in error


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    assert "there is no such folder" in _run(str(tmp_path / "data"))[1]


def test_a_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "data")
    disk = DataFolder(tmp_path / "data")
    assert "is in use by a broker" in _run(folder)[1]
    disk.close()


@pytest.mark.parametrize(
    ("answer", "words"), [("n\n", "nothing was restored"), ("", "nobody answered")]
)
def test_it_says_what_the_folder_has_and_asks(tmp_path: Path, answer: str, words: str) -> None:
    output, error = _run(_folder(tmp_path / "data"), answer=answer)
    assert "has seen revision 7 of history 0, and has 1 row of it" in output
    assert words in error


def test_a_copy_that_is_not_whole_is_refused_in_a_line(tmp_path: Path) -> None:
    assert "the value of 'cluster' in etcd" in _run(_folder(tmp_path / "data"), "--yes")[1]
