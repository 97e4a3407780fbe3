"""Explain: where a compiled network spends its time, and what differs between two, in terms of its own modules.

Profiles enter (`profile.py`, plain data); an `Explanation` leaves. Pure functions: no framework, no clock, no file.
`explanation.py` puts it together: open it first. `places.py` leads kernels back to modules, `siblings.py` joins those
that are computed together, `modules.py` chooses the modules that are worth a row, `rows.py` makes rows with intervals.
`moves.py` finds modules that have other paths in the head. `graphs.py` and `fusions.py` compare what was compiled,
without any time; `counters.py` compares what the processor did. `layers.py` reads convolutions and linear layers from
the nodes of a profile, and `widths.py` chooses those to try at other widths. `kept.py` is what a record keeps of a
profile, `parts.py` and `tree.py` are what the report makes of that, and `blocks.py` finds the blocks of a stack.
"""
