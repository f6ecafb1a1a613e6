"""The table of checks in docs/doctor.md is the code's."""

from __future__ import annotations

import re
from pathlib import Path

from mqkit.topology.doctor.finding import SEVERITIES

PAGE = Path(__file__).resolve().parents[5] / "docs" / "doctor.md"


def test_every_check_is_in_the_table_with_its_severity() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| (\w+) \|", PAGE.read_text(), re.MULTILINE)
    assert rows == [(str(check), str(severity)) for check, severity in SEVERITIES.items()]
