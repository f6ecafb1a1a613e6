"""Rewriting sealed segments that are less than half live, and copying their live records.

Law: a source is deleted only after its copy is durable. Read ``rewrite.py`` first.
"""
