"""Exchange types, bindings and routing; deduplication by exchanges, and delayed messages.

Law: routing finds queues, and changes no binding and no message. Read ``exchange.py`` and
``router.py`` first. A new exchange type is a matcher (``matcher.py`` has the protocol, and two of
them; beside it ``topic_trie.py``, ``headers_match.py``, ``hash_match.py``), its line in the tables
of ``exchange.py``, and the checks of its arguments in ``vhost/exchange_declaration.py``.
"""
