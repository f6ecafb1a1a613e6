"""interop.command: exit codes, what is kept and what is told."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.command import chosen, end, end_with_folder


def code_of(end_it: Callable[[], None]) -> object:
    with pytest.raises(SystemExit) as ended:
        end_it()
    return ended.value.code


def fails() -> int:
    raise RuntimeError("there is no broker")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_seed_is_kept_and_zero_is_one() -> None:
    assert (chosen(7), chosen(0)) == (7, 0)
    assert chosen(None) != chosen(None)


def test_the_exit_code_is_that_of_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(lambda: end("drift", lambda: 0)) == 0
    assert code_of(lambda: end("drift", lambda: 3)) == 3
    assert code_of(lambda: end("drift", fails)) == 1
    assert capsys.readouterr().err == "interop.drift: there is no broker\n"
    with pytest.raises(ZeroDivisionError):
        end("drift", lambda: 1 // 0)


@pytest.mark.parametrize(
    ("run", "keep", "stays"),
    [
        (lambda folder: 0, False, False),
        (lambda folder: 0, True, True),
        (lambda folder: 1, False, True),
        (lambda folder: fails(), False, True),
    ],
)
def test_a_folder_stays_after_a_fault(
    run: Callable[[Path], int],
    keep: bool,
    stays: bool,
    temporary: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code_of(lambda: end_with_folder("two_words", run, kept="facts: {folder}", keep=keep))
    kept = list(temporary.iterdir())
    assert [path.name.startswith("mqkit-two-words-") for path in kept] == [True] * stays
    assert capsys.readouterr().out == "".join(f"facts: {path}\n" for path in kept)


def test_a_folder_stays_after_ctrl_c(temporary: Path) -> None:
    def stopped(folder: Path) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        end_with_folder("chaos", stopped, kept="facts: {folder}")
    assert len(list(temporary.iterdir())) == 1
