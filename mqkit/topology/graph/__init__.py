"""A topology as a picture: nodes and edges, and their text in Mermaid and DOT. Pure.

Names are other people's: they are only ever labels, escaped, and never ids.
"""
