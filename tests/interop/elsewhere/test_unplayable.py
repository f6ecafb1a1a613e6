"""The list of the tests that can't be played on two nodes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interop.elsewhere.unplayable import UNPLAYABLE, is_unplayable

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("node_id", UNPLAYABLE)
def test_each_is_there_and_has_a_reason(node_id: str) -> None:
    file, _, name = node_id.partition("::")
    text = (ROOT / file).read_text()
    for part in name.split("::"):
        assert re.search(rf"^ *(?:def|class) {part}\b", text, re.MULTILINE), part
    assert UNPLAYABLE[node_id].strip()


def test_a_test_is_left_out_with_all_of_its_parameters() -> None:
    name = next(iter(UNPLAYABLE))
    assert is_unplayable(name)
    assert is_unplayable(f"{name}[pika-reference]")
    assert not is_unplayable(f"{name}_too")
