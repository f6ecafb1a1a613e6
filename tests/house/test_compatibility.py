"""docs/compatibility.md has what the differential test leaves out, entry by entry."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.differential.on_purpose import ON_PURPOSE, OnPurpose

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"


@pytest.mark.parametrize("entry", ON_PURPOSE, ids=lambda entry: entry.name)
def test_every_difference_on_purpose_is_in_the_table(entry: OnPurpose) -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().splitlines()
        if line.startswith("|")
    ]
    assert [entry.name, entry.rabbitmq, entry.ours, entry.reason] in rows


def test_no_two_entries_have_a_name() -> None:
    names = [entry.name for entry in ON_PURPOSE]
    assert len(set(names)) == len(names)
