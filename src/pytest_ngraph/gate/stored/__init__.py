"""The gate against stored runs, which were measured on other days than the head.

In: the records of a run, and stored runs as a baseline. Out: verdicts. `stored_runs.py` says what each case is compared
with, `between_runs.py` by how much runs of the same code differ, `aligned_runs.py` puts runs side by side,
`pooled_columns.py` combines cases, `whole_run.py` judges a run at once. Open `baseline.py` first: it has the verdict.
"""
