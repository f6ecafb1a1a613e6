"""Docstrings' reST roles as Markdown."""

from __future__ import annotations

from pathlib import Path

import griffe
import pytest

from website.roles import Roles, to_markdown

SOURCE = '''
"""The room. ::

    code = 1
"""
import shop.tills
from shop.tills import Till

class Desk:
    """Has a :class:`Till`, see :meth:`open`. Raises
    :exc:`~shop.errors.Closed`::

        desk.open()
    """

    def open(self) -> Till:
        """Opens :attr:`lid`."""
'''


@pytest.fixture
def module() -> griffe.Module:
    return griffe.visit("shop", Path("shop.py"), SOURCE)


def link(place: str, shown: str) -> str:
    return f'<autoref identifier="{place}" optional><code>{shown}</code></autoref>'


def test_a_role_is_a_link_to_the_whole_name_of_what_it_names(module: griffe.Module) -> None:
    desk = module["Desk"]
    shown = to_markdown(desk.docstring.value, desk)
    assert (
        f"Has a {link('shop.tills.Till', 'Till')}, see {link('shop.Desk.open', 'open()')}." in shown
    )
    assert f"{link('shop.errors.Closed', 'Closed')}:\n\n    desk.open()" in shown


def test_a_name_that_nobody_knows_stays_as_it_is(module: griffe.Module) -> None:
    assert to_markdown(":attr:`lid`", module["Desk"]["open"]) == link("lid", "lid")


def test_a_role_may_say_what_is_shown(module: griffe.Module) -> None:
    desk = module["Desk"]
    assert to_markdown(":meth:`the door\n    <open>`", desk) == link("shop.Desk.open", "the door()")


def test_two_colons_before_code_are_gone(module: griffe.Module) -> None:
    assert to_markdown("The room. ::\n\n    code = 1", module) == "The room.\n\n    code = 1"
    assert to_markdown("::\n\n    code = 1", module) == "\n\n    code = 1"


def test_a_whole_package_is_rewritten(module: griffe.Module) -> None:
    Roles().on_package(pkg=module, loader=griffe.GriffeLoader())
    written = [owner.docstring for owner in (module, module["Desk"], module["Desk"]["open"])]
    assert [":`" in text.value for text in written if text is not None] == [False] * 3
