"""A measured case compiled again, for the commands that need its model, or its slowest layers by themselves.

In: a record. Out: the folder that serves its model (`deploying.py`), its profile (`explaining.py`), or its layers at
several widths (`probing.py`). Open `compiled_again.py` first.
"""
