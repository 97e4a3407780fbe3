"""What the server of `forking.py` imports for processes that collect the tests of a base: pytest, and our plugin.

A run of pytest would import them by itself, and take most of its time for that. That they are imported before pytest
can rewrite their assertions is so in every such process.
"""

from __future__ import annotations

from importlib import import_module

import forked_side

MODULES = ("pytest", "pytest_ngraph.plugin.collection", "pytest_ngraph.plugin.assembly")
"""They import the rest; what runs as the main module of a process is not among them."""


class Imports(forked_side.Light):
    """Declares that nothing further is imported."""


for module in MODULES:
    import_module(module)
