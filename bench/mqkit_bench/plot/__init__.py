"""``mqkit bench plot``: what ``broker`` and ``growth`` have measured as one SVG, by our own lines.

The same figures make the same file, byte for byte. It can be read on light and on dark pages.
"""
