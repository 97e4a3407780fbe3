"""What a run is compared with, and the verdicts on its records.

The base is either measured beside the head (`live.LiveBase`; its code comes from an `Origin`: a git revision, another
Python environment, or the head itself), or it is a stored baseline (`stored.StoredBase`). Two live bases fail nothing:
`anchor.Anchor` (of a history) and `calibrating.Calibrator`. `interpreter.py` finds the other environment, `pairing.py`
the base's case of each case, and `processes.py` how much processes of the same code differ. `linking.py` measures a new
anchor beside the previous one, and `stored_run.py` judges a stored run without measuring.

In: `GateOptions`, the head's cases with their node ids, and the records as they are measured.
Out: the `Base` that `bench` measures beside the head, and the gate's verdicts by case.
Read `origin.py` first (where a base comes from), then `live.py`.
"""
