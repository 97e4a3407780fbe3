"""The store: an append-only journal of records, one file a run.

Records enter through `Journal` (`journal.py`, open it first); `read` (`reader.py`) gives them back as a `Run`
(`run.py`).

The format is JSON Lines, where a line is either complete or not. So a torn tail costs one record, merging is copying,
readers need no lock, and data read back cannot run code. Two runs never write to the same file.

One or several sessions write a run, one after another. Each session begins with a line that describes it (schema,
environment, planned cases). Then follow a line for each device of a cluster, one for each phase that a case enters, one
for each record, which is on disk before its test reports an outcome, and in a race one for each step. The last line
says how the session ended. A session without that line died.
"""

from pytest_ngraph.store.conformity import conforms
from pytest_ngraph.store.journal import Journal, check_writable
from pytest_ngraph.store.merging import Merged, merge
from pytest_ngraph.store.reader import read
from pytest_ngraph.store.run import (
    LATEST,
    SCHEMA,
    SUFFIX,
    Death,
    Run,
    Step,
    is_live,
    last_unfinished,
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
    "Step",
    "check_writable",
    "conforms",
    "is_live",
    "last_unfinished",
    "merge",
    "read",
    "run_ids",
    "unfinished",
]
