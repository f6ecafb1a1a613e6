"""The functions that mkdocs calls while it builds the site; each is named for its event."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from website import command_line
from website.links import DOCS, OUTSIDE, for_the_site, site_place
from website.menu import menu_of
from website.repository import linked_pages


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = menu_of(Path(config.docs_dir))
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    root = Path(config.docs_dir).parent
    pages = [f"{DOCS}/{file.src_uri}" for file in files.documentation_pages()]
    for path, markdown in linked_pages(root, pages).items():
        files.append(File.generated(config, site_place(path), content=markdown))
    return files


def on_page_markdown(markdown: str, *, page: Page, **kwargs: Any) -> str:
    if command_line.PLACE in markdown:
        return markdown.replace(command_line.PLACE, command_line.help_pages())
    place = page.file.src_uri
    outside = place.removeprefix(f"{OUTSIDE}/")
    return for_the_site(markdown, f"{DOCS}/{place}" if outside == place else outside)
