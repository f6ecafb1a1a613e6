"""paced_log: a line a second, and how many were left out."""

from __future__ import annotations

from reference_broker.runtime.process.paced_log import LINE_INTERVAL_S, PacedLog


def test_a_line_a_second() -> None:
    lines: list[str] = []
    now = 100.0
    log = PacedLog(lines.append, lambda: now)
    for number in range(4):
        log.line(f"refused {number}")
    assert lines == ["refused 0"]
    now += LINE_INTERVAL_S
    log.line("refused 4")
    now += LINE_INTERVAL_S
    log.line("refused 5")
    assert lines[1:] == ["refused 4 (3 lines before it were left out)", "refused 5"]
