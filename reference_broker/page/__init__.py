"""The management page: static files, which :mod:`reference_broker.http.serving.page` serves.

No build step and no other source of anything: a browser runs these files as they are. Each module
has one noun. What comes from the broker becomes text nodes (``element.js``), never markup.
"""
