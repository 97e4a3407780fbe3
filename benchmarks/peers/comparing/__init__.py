"""Code shared by the scripts, and their parts, each of which makes a table.

The repository's tools and the projects of its tests are not installed packages, so this puts them on `sys.path`.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [path for path in (str(ROOT / "tools"), str(ROOT / "tests" / "support")) if path not in sys.path]
