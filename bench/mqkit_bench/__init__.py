"""The bench: a load generator that is cheaper than what it measures, and contestants side by side.

``mqkit bench`` runs brokers or clients alternately, several rounds each, on one machine and one
file system, and prints medians and ratios. Only ratios count: machines differ.
"""
