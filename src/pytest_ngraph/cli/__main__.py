"""`python -m pytest_ngraph.cli` is the command `pytest-ngraph`."""

import sys

from pytest_ngraph.cli import main

sys.exit(main())
