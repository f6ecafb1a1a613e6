"""Exchange types, bindings and routing; deduplication and delays of an exchange.

Law: routing reads bindings and message, and changes neither. A new exchange type is a matcher
beside ``topic_trie.py``. Read ``exchange.py`` and ``router.py`` first.
"""
