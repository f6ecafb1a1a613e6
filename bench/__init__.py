"""The bench: a load generator that is cheaper than what it measures, and contestants side by side.

``python -m bench`` runs the reference broker and RabbitMQ alternately, several rounds each, on one
file system, and prints medians and ratios. ``backlog``, ``drain`` and ``stuck`` measure the store.
Only ratios count: machines differ.
"""
