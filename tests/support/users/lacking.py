"""Compilers that run the workloads of `faulty.py` only where these hold certain numbers."""

import os

from mine import Exact

from pytest_ngraph.errors import Unsupported


class Picky(Exact):
    """Lacks an operator that only numbers above 5 need, and another that only numbers below 0 need."""

    def compile(self, artifact, target, folder):
        numbers = artifact.reference()[0]
        if numbers.max() > 5:
            raise Unsupported("picky cannot convert the operator Big")
        if numbers.min() < 0:
            raise Unsupported("picky cannot convert the operator Negative")
        super().compile(artifact, target, folder)


class AbortsOn9(Exact):
    """Crashes on a workload with this number."""

    def compile(self, artifact, target, folder):
        if 9 in artifact.reference()[0]:
            os.abort()
        super().compile(artifact, target, folder)
