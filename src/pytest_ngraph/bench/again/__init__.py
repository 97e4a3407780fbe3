"""A measured case compiled again, for the commands that need its model: `deploying.py` and `explaining.py`.

In: a record. Out: the folder that serves its model, or the profile of it. Open `compiled_again.py` first.
"""
