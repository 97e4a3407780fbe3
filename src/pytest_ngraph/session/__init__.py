"""One run: its plan, its measurements, its records and its end. Nothing here knows pytest.

`Session` gets the cases that tests ask for, in groups, and opens the bench when the first group is due. Records come
in, go to the store and are compared with each base; `Session.conclude` returns one `RunResult` for every report.
Start with `session.py`; `judgement.py` says what fails, `resume.py` what an unfinished run still has.
"""
