"""What the scripts have in common, and the parts of which each makes a table.

The repository's tools, and the projects that its tests run, are no packages that are installed: they are found here.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [path for path in (str(ROOT / "tools"), str(ROOT / "tests")) if path not in sys.path]
