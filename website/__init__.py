"""The site that mkdocs makes of ``docs/``. ``make docs`` builds it; mkdocs.yml has its settings.

hooks           mkdocs calls them: all that meets mkdocs itself
menu            the menu, out of the index pages' own links
links           a page's links, as they are in the site
repository      files outside ``docs/`` that a page links to, as pages
roles           a griffe extension: docstrings' reST roles as Markdown
command_line    the help of every ``mqkit`` command
"""
