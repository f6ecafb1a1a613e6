"""The files of a topology: which are read, how far, and what they say together."""

from __future__ import annotations

import os
import threading
import tracemalloc
from pathlib import Path

import pytest

from mqkit.topology.file.document import MAX_DOCUMENT_BYTES, MappingNode
from mqkit.topology.file.sources import MAX_FILES, Source, read_files, tree_of


def said(files: list[Path]) -> list[str]:
    return [fault.show("all") for fault in read_files(files)[1]]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "base.yaml"
    path.write_text("queues: {a: {}}\n")
    return path


def test_one_file_has_plain_lines_and_several_name_theirs(base: Path, tmp_path: Path) -> None:
    ((source,), _) = read_files([base])
    assert source == Source(str(base), "queues: {a: {}}\n")
    assert type(source.at(1)) is int
    other = tmp_path / "other.yaml"
    other.write_bytes(b"\xef\xbb\xbfb: 1\n")
    sources, faults = read_files([base, other])
    assert faults == []
    assert [(source.text, source.rank) for source in sources] == [
        ("queues: {a: {}}\n", 0),
        ("b: 1\n", 1),
    ]


@pytest.mark.parametrize("way", ["again", "symlink", "hard link", "detour"])
def test_the_same_file_twice_is_a_fault(base: Path, tmp_path: Path, way: str) -> None:
    again = tmp_path / "again.yaml"
    match way:
        case "again":
            again = base
        case "symlink":
            again.symlink_to(base)
        case "hard link":
            os.link(base, again)
        case _:
            (tmp_path / "folder").mkdir()
            again = tmp_path / "folder" / ".." / "base.yaml"
    assert said([base, again]) == [f"{again}: the same file as {base} (name each file once)"]


def test_each_file_that_can_not_be_read_is_a_fault(base: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_bytes(b"a: 1\nb: \xff\n")
    assert said([tmp_path / "nowhere.yaml", base, bad, tmp_path]) == [
        f"{tmp_path}/nowhere.yaml: can't be read: No such file or directory",
        f"{bad}:2: not UTF-8 text",
        f"{tmp_path}: can't be read: Is a directory",
    ]
    assert said([bad]) == ["all:2: not UTF-8 text"]


def sized(path: Path, octets: int) -> Path:
    with path.open("wb") as opened:
        opened.truncate(octets)
    return path


def test_the_bound_on_size_is_for_all_files_together(tmp_path: Path) -> None:
    whole = sized(tmp_path / "whole.yaml", MAX_DOCUMENT_BYTES)
    assert said([whole]) == []
    over = sized(tmp_path / "over.yaml", MAX_DOCUMENT_BYTES + 1)
    assert said([over]) == ["all: the file is larger than 4194304 bytes, which is the limit"]
    half = sized(tmp_path / "half.yaml", MAX_DOCUMENT_BYTES // 2)
    other = sized(tmp_path / "other.yaml", MAX_DOCUMENT_BYTES // 2)
    last = sized(tmp_path / "last.yaml", 1)
    assert said([half, other]) == []
    assert said([half, other, last]) == [
        f"{last}: the files together are larger than 4194304 bytes, the limit"
    ]


def test_a_file_of_50_mb_is_not_read(tmp_path: Path) -> None:
    huge = sized(tmp_path / "huge.yaml", 50 * 1024 * 1024)
    tracemalloc.start()
    try:
        assert read_files([huge])[0] == []
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < MAX_DOCUMENT_BYTES


def test_a_pipe_is_read_up_to_the_bound(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        try:
            with pipe.open("wb") as opened:
                opened.write(b"#" * (MAX_DOCUMENT_BYTES + (1 << 20)))
        except BrokenPipeError:
            pass

    writer = threading.Thread(target=write)
    writer.start()
    assert "larger than" in said([pipe])[0]
    writer.join()


def test_the_bound_on_files(base: Path) -> None:
    assert said([base] * (MAX_FILES + 1)) == [f"all: {MAX_FILES + 1} files, over the limit of 32"]
    assert len(said([base] * MAX_FILES)) == MAX_FILES - 1  # the same one


def test_later_files_are_laid_over_earlier_ones_once_their_variables_are_in() -> None:
    sources = [
        Source("0.yaml", "${A}: {x: 1}", 0),
        Source("1.yaml", "a: {x: 2}", 1),
        Source("2.yaml", "a: {y: '${A}'}", 2),
    ]
    root, faults = tree_of(sources, {"A": "a"})
    assert faults == []
    assert isinstance(root, MappingNode)
    assert [entry.key for entry in root.entries] == ["a"]


def test_all_files_are_parsed_before_anything_is_said() -> None:
    sources = [Source("0.yaml", "a: [", 0), Source("1.yaml", "b: 1\nb: 2", 1), Source("2", "", 2)]
    root, faults = tree_of(sources, {})
    assert root is None
    assert [fault.file for fault in faults] == ["0.yaml", "1.yaml", "2"]


@pytest.mark.parametrize("text", ["a: [${A}]", "a: 1\nb: {c: ${A:-5}}"])
def test_braces_inside_a_flow_collection_are_explained(text: str) -> None:
    _, (fault,) = tree_of([Source("t", text)], {})
    assert '(inside [] and {}, quote a variable: "${NAME}")' in fault.message


def test_other_faults_get_no_advice_about_variables() -> None:
    _, (fault,) = tree_of([Source("t", "b: ${A:-5}\na: [{A}")], {})
    assert "quote a variable" not in fault.message
