"""The history of a store: what became slower over the months, and which commit or library did it.

In: the journals of a store (nightly runs beside an anchor, `--ngraph-history`), and what other tools measured
(`imports/`). Out: an index of all records by case, commit and time (`index.py`); a series for each case, in which
ratios to several anchors are chained (`series.py`, `chain.py`); the steps in the series (`steps.py`); the lines, the
JSON and the page that show them. `pruning.py` forgets samples before summaries, and finds damage.

It measures nothing and knows no pytest. Read `index.py` first, then `series.py` and `steps.py`.
"""
