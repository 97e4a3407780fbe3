"""Bisecting: which commit, or which library, made cases slower (or faster)?

In: a good and a bad revision, or two environments; and pytest's arguments. Out: an `Outcome`, which names a commit for
each case that regressed, or the range that it was narrowed to.
`graph`, `search` and `bisection` decide what is asked next and what follows: pure functions of what a `Gate` answers.
`commits` and `environments` say what there is to choose from; `revision_gate` and `environments` answer, by running the
gate in a child process (`gate`, `child`); `journal` keeps every answer, for `--resume`. Read `bisection.py` first.
"""
