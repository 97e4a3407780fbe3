"""Render a run for its readers: terminal summary, comparison with a base, pull-request page, formats of other tools.

In: records, metrics, thresholds' checks and verdicts, which other packages computed.
Out: styled lines for the terminal, Markdown, JSON-ready data, and with `study` a folder of tables, figures and a page.
It computes no metric or verdict and knows no pytest.
Read `summary.py` first (the terminal), then `comparison.py` (a base) and `pull_request.py` (continuous integration).
"""
