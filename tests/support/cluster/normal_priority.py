"""`pytest-ngraph device start` for tests: `python -m cluster.normal_priority`.

A device answers only when a core has nothing else to do. Beside other tests, that takes minutes.
"""

from __future__ import annotations

import sys
from unittest.mock import patch

from pytest_ngraph.cli import main

if __name__ == "__main__":
    with patch("pytest_ngraph.cluster.device.device.step_back"):
        sys.exit(main())
