"""Files outside ``docs/`` that become pages, since a page links to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from website.repository import SIZE_MAX, linked_pages, page_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "retry.md").write_text("[top](../ARCHITECTURE.md)")
    (tmp_path / "ARCHITECTURE.md").write_text("[the folder](shop), [back](docs/retry.md)")
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "service.py").write_text('"""A service."""\n')
    (shop / "data.jsonl").write_text("x" * (SIZE_MAX + 1))
    (shop / "__pycache__").mkdir()
    (tmp_path / "never.py").write_text("nobody links here")
    return tmp_path


def test_what_is_linked_and_what_that_links_to_has_a_page(root: Path) -> None:
    assert set(linked_pages(root, ["docs/retry.md"])) == {
        "ARCHITECTURE.md",
        "shop",
        "shop/service.py",
    }


def test_a_file_is_shown_as_code_in_its_language(root: Path) -> None:
    assert page_of(root, "shop/service.py") == (
        '# `shop/service.py`\n\n```python\n"""A service."""\n```\n'
    )


def test_a_folder_is_a_list_of_links_named_from_its_parent(root: Path) -> None:
    assert page_of(root, "shop") == "# `shop`\n\n* [service.py](shop/service.py)\n"


def test_a_file_with_a_fence_has_a_longer_one(root: Path) -> None:
    (root / "fenced.py").write_text("'''\n```\n'''")
    assert page_of(root, "fenced.py").count("````") == 2


def test_a_link_that_leads_nowhere_is_an_error(root: Path) -> None:
    (root / "docs" / "retry.md").write_text("[gone](../README.md)")
    with pytest.raises(FileNotFoundError):
        linked_pages(root, ["docs/retry.md"])
