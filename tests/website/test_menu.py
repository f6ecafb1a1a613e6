"""The menu, out of index pages."""

from __future__ import annotations

from pathlib import Path

from website.menu import menu_of, pages_of

INDEX = """# All pages

[retry.md](retry.md), [the source](../ARCHITECTURE.md), [elsewhere](https://example.org/README.md)

## How to

[all of them](howto/README.md), and [retry.md](retry.md) again

## Words

No page here.

## Explanation

### Queues

| [topology.md](topology.md) | one | [lots.md](lots.md#replay) |
| [drift.md](drift.md) | two |
"""


def test_sections_are_the_headings_that_have_pages(tmp_path: Path) -> None:
    (tmp_path / "howto").mkdir()
    (tmp_path / "README.md").write_text(INDEX)
    (tmp_path / "howto" / "README.md").write_text(
        "[a](inbox.md) [up](../topology.md) [b](outbox.md)"
    )
    menu = menu_of(tmp_path)
    assert menu == [
        "README.md",
        "retry.md",
        {"How to": ["howto/README.md", "howto/inbox.md", "howto/outbox.md"]},
        {"Explanation": [{"Queues": ["topology.md", "drift.md"]}]},
    ]
    assert pages_of(menu)[1:4] == ["retry.md", "howto/README.md", "howto/inbox.md"]
