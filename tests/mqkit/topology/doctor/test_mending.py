"""Command lines, quoted so that a shell and a broker read back the name."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.topology.doctor.mending import Mending, yaml_text

names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(names)
def test_names_come_through_a_shell(name: str) -> None:
    mending = Mending((name, name), vhost=name, is_live=True)
    assert shlex.split(mending.apply())[3:] == ["-f", name, "-f", name]
    assert shlex.split(mending.peek(name))[2] == name
    words = shlex.split(mending.delete_queue(Queue(name), 0).command)
    assert words[2:] == (
        ["-p", name, "delete_queue", name, "--if-empty"]
        if name != "/"
        else ["delete_queue", name, "--if-empty"]
    )
    words = shlex.split(mending.set_policy(name, {"overflow": "reject-publish"}))
    assert re.fullmatch(words[words.index("set_policy") + 2], name)


@given(names)
def test_a_declaration_comes_through_a_shell(name: str) -> None:
    mending = Mending(vhost=name)
    objects = (Exchange(name, "fanout"), Queue(name), Binding(name, name, name))
    words = shlex.split(mending.declare(*objects, policy=("queues", name, {"expires": 5})))
    assert words[:2] == ["printf", "%s"]
    assert words[3:] == ["|", "mqkit", "broker", "import-definitions", "-"]
    document = json.loads(words[2])
    assert [document[kind][0]["vhost"] for kind in document] == [name] * 4
    assert document["bindings"][0]["routing_key"] == name
    assert re.fullmatch(document["policies"][0]["pattern"], name)


@pytest.mark.parametrize("text", ["a", "a-b.c", "true", "", "#", "a: b", '"', "5", "null", "a\nb"])
def test_a_name_reads_back_from_a_file(text: str) -> None:
    assert YAML(typ="safe").load(f"{{from: {yaml_text(text)}}}") == {"from": text}
