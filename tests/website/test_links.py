"""Links of the repository's files, as links between the pages of the site."""

from __future__ import annotations

import pytest

from website.links import for_the_site, site_place, targets

PAGE = ".md"


@pytest.mark.parametrize(
    ("page", "link", "shown"),
    [
        ("docs/retry.md", "lots.md#replay", "lots.md#replay"),
        ("docs/reference/lots.md", "../retry.md", "../retry.md"),
        ("docs/retry.md", "../README.md", "repository/README.md"),
        ("docs/reference/lots.md", "../../mqkit/app.py", f"../repository/mqkit/app.py{PAGE}"),
        ("docs/retry.md", "../examples/orders", f"repository/examples/orders{PAGE}"),
        ("docs/retry.md", "images/queue.png", "images/queue.png"),
        ("README.md", "docs/retry.md#headers", "../retry.md#headers"),
        ("README.md", "docs/images/queue.png", "../images/queue.png"),
        ("README.md", "CONTRIBUTING.md", "CONTRIBUTING.md"),
        ("docs/retry.md", "#headers", "#headers"),
        ("docs/retry.md", "https://example.org/README.md", "https://example.org/README.md"),
    ],
)
def test_a_link_leads_to_the_page_that_shows_its_file(page: str, link: str, shown: str) -> None:
    assert for_the_site(f"See [it]({link}).", page) == f"See [it]({shown})."


@pytest.mark.parametrize("ticks", ["```", "````"])
def test_code_is_left_as_it_is(ticks: str) -> None:
    code = f"{ticks}python\nrow = table[name](../x.py)\n{ticks}"
    assert for_the_site(code, "docs/retry.md") == code
    assert list(targets(code, "docs/retry.md")) == []


def test_a_longer_fence_may_have_a_shorter_one_in_it() -> None:
    code = "````python\n```\n[a](../x.py)\n````\n"
    assert for_the_site(f"{code}[b](../y.py)", "docs/retry.md").startswith(code)
    assert list(targets(f"{code}[b](../y.py)", "docs/retry.md")) == ["y.py"]


def test_targets_are_named_from_the_root_of_the_repository() -> None:
    text = "[a](../README.md#x) [b](lots.md) [c](https://example.org) [d](#here)"
    assert list(targets(text, "docs/retry.md")) == ["README.md", "docs/lots.md"]


def test_a_file_and_a_page_have_places_of_their_own() -> None:
    assert site_place("docs/reference/lots.md") == "reference/lots.md"
    assert site_place("mqkit/app.py") == f"repository/mqkit/app.py{PAGE}"
