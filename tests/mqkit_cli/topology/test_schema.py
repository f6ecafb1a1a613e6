"""`mqkit topology schema`."""

from __future__ import annotations

import json
from typing import Any

from mqkit.topology import topology_schema


def test_the_schema_is_printed(mqkit: Any) -> None:
    answer = mqkit("topology", "schema")
    assert answer.returncode == 0
    assert json.loads(answer.stdout) == topology_schema()
