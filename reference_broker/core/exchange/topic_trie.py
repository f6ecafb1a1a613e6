"""The topic exchange: binding patterns in a trie of words.

A word is what stands between dots; a key without characters has no words. In a pattern ``*`` is
any one word, ``#`` any number of words, none included (spec section 3.1.3.3).

The cost of a match is bounded by the words of the key times the nodes of the trie. Two things see
to that, where a search that backtracks takes exponential time on ``#.#.#.a`` (CVE-2026-67419):

* Patterns are stored in a normal form. A run of wildcards with a ``#`` in it means "at least so
  many words as it has stars", so ``#.*.#`` becomes ``*.#``: below a ``#`` stands a plain word.
* All the places in the trie that the words so far can lead to are kept at once, each place once,
  and take the next word together.

Words and nodes are both the clients' to choose, so there is a bound on their product as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from reference_broker.core.exchange.binding import Binding, BindingIdentity
from reference_broker.core.message.message_headers import NO_HEADERS, MessageHeaders
from reference_broker.errors import ChannelException, ReplyCode

PLACES_MAX = 50_000
"""Nodes of the trie that one message may visit, counted for each word of its keys: 10 to 20 ms in
which nobody else is served. A word of a usual key leads to three, whatever is bound."""

ONE_WORD = "*"
ANY_WORDS = "#"


class TopicTrie:
    """The bindings of one topic exchange."""

    __slots__ = ("_root", "looked", "nodes")
    by_key_alone = True

    def __init__(self) -> None:
        self._root = _Node()
        self.looked = 0
        self.nodes = 0
        """Nodes below the root."""

    def add(self, binding: Binding) -> None:
        """Adding one again changes nothing."""
        node = self._root
        for word in normal_form(binding.key):
            child = node.children.get(word)
            if child is None:
                child = node.children[word] = _Node(any_words=word == ANY_WORDS)
                self.nodes += 1
            node = child
        node.bindings[binding.identity] = binding

    def remove(self, binding: Binding) -> None:
        """``binding`` must be here. Nodes that led to it only are removed too."""
        path = []
        node = self._root
        for word in normal_form(binding.key):
            path.append((node, word))
            node = node.children[word]
        del node.bindings[binding.identity]
        for parent, word in reversed(path):
            child = parent.children[word]
            if child.bindings or child.children:
                break
            del parent.children[word]
            self.nodes -= 1

    def match(
        self,
        routing_key: str,
        headers: MessageHeaders = NO_HEADERS,
        more_keys: Sequence[str] = (),
    ) -> list[Binding]:
        """The bindings whose pattern one of the keys fits, each once, in an order that depends on
        nothing but the bindings.

        Raises :exc:`ChannelException` 406 where that takes a look at more than ``PLACES_MAX``.
        """
        self.looked = 0
        reached = self._places(routing_key)
        for key in dict.fromkeys(more_keys):
            reached |= self._places(key)
        return [binding for node in reached for binding in node.bindings.values()]

    def _places(self, key: str) -> dict[_Node, None]:
        """The nodes to which the words of ``key`` lead."""
        reached: dict[_Node, None] = {}
        _reach(self._root, reached)
        for word in words_of(key):
            self.looked += len(reached)
            if self.looked > PLACES_MAX:
                raise ChannelException(
                    ReplyCode.PRECONDITION_FAILED,
                    f"invalid message: its keys lead to more than {PLACES_MAX} places in the"
                    " bindings of a topic exchange",
                )
            ahead: dict[_Node, None] = {}
            for node in reached:
                if node.any_words:
                    ahead[node] = None
                children = node.children
                child = children.get(word)
                # The word may be "*" or "#" itself: then this finds the wildcard, and rightly, as
                # either may take that one word.
                if child is not None:
                    _reach(child, ahead)
                child = children.get(ONE_WORD)
                if child is not None:
                    _reach(child, ahead)
            if not ahead:
                return ahead
            reached = ahead
        return reached

    @property
    def is_empty(self) -> bool:
        """Neither a binding nor a node is left."""
        return not self._root.children and not self._root.bindings


class _Node:
    """A place in the trie. ``any_words``: it was reached by ``#``, and keeps taking words."""

    __slots__ = ("any_words", "bindings", "children")

    def __init__(self, any_words: bool = False) -> None:
        self.any_words = any_words
        self.children: dict[str, _Node] = {}
        self.bindings: dict[BindingIdentity, Binding] = {}


def _reach(node: _Node, reached: dict[_Node, None]) -> None:
    """The node, and what lies behind a ``#`` that takes no word. There is at most one such: the
    normal form has no two in a row."""
    reached[node] = None
    child = node.children.get(ANY_WORDS)
    if child is not None:
        reached[child] = None


def words_of(key: str) -> list[str]:
    """``a..b`` has three words, the empty key none."""
    return key.split(".") if key else []


def normal_form(pattern: str) -> list[str]:
    """The pattern's words; runs of wildcards with a ``#`` in them as stars and one ``#``."""
    words: list[str] = []
    stars = 0
    any_words = False
    for word in words_of(pattern):
        if word == ONE_WORD:
            stars += 1
        elif word == ANY_WORDS:
            any_words = True
        else:
            words += [ONE_WORD] * stars + [ANY_WORDS] * any_words
            words.append(word)
            stars, any_words = 0, False
    return words + [ONE_WORD] * stars + [ANY_WORDS] * any_words
