"""The store: an append-only journal of records, one file a run.

JSON Lines, because a line is whole or it is not: a torn tail costs one record, two runs never write to the same file,
merging is copying, readers need no lock, and nothing read back can run code. A run is written by one session after
another, each of which begins with a line that describes it (schema, environment, planned cases). Then follow a line for
each device of a cluster, one for each phase that a case enters and one for each record, on disk before its test reports
an outcome, and at last one that says how the session ended. A session without that line died.
"""

from pytest_ngraph.store.conformity import conforms
from pytest_ngraph.store.journal import Journal, check_writable
from pytest_ngraph.store.merging import Merged, merge
from pytest_ngraph.store.run import (
    LATEST,
    SCHEMA,
    SUFFIX,
    Death,
    Run,
    is_live,
    last_unfinished,
    read,
    run_ids,
    unfinished,
)

__all__ = [
    "LATEST",
    "SCHEMA",
    "SUFFIX",
    "Death",
    "Journal",
    "Merged",
    "Run",
    "check_writable",
    "conforms",
    "is_live",
    "last_unfinished",
    "merge",
    "read",
    "run_ids",
    "unfinished",
]
