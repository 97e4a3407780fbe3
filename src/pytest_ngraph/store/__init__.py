"""The store: an append-only journal of records, one file a run.

Records enter through `Journal` (`journal.py`, open it first); `read` (`reader.py`) gives them back as a `Run`
(`run.py`).

The format is JSON Lines, where a line is either complete or not. So a torn tail costs one record, merging is copying,
readers need no lock, and data read back cannot run code. Two runs never write to the same file.

One or several sessions write a run, one after another. Each session begins with a line that describes it (schema,
environment, planned cases). Then follow a line for each device of a cluster, one for each phase that a case enters, one
for each record, which is on disk before its test reports an outcome, and in a race one for each step. The last line
says how the session ended. A session without that line died.

An outline (`outline.py`) has what resuming and gating must know of each record, so that these do not read the journal
again. It follows from the journal, and can be deleted.
"""

from pytest_ngraph.store.conformity import conforms
from pytest_ngraph.store.journal import Journal, check_writable
from pytest_ngraph.store.merging import merge
from pytest_ngraph.store.outline import Outline
from pytest_ngraph.store.outlining import outlined
from pytest_ngraph.store.reader import check, read
from pytest_ngraph.store.run import (
    LATEST,
    SCHEMA,
    SUFFIX,
    Run,
    Step,
    is_live,
    last_unfinished,
    race_of,
    run_ids,
    unfinished,
)

__all__ = [
    "LATEST",
    "SCHEMA",
    "SUFFIX",
    "Journal",
    "Outline",
    "Run",
    "Step",
    "check",
    "check_writable",
    "conforms",
    "is_live",
    "last_unfinished",
    "merge",
    "outlined",
    "race_of",
    "read",
    "run_ids",
    "unfinished",
]
