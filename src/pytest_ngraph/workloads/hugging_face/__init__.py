"""Models of transformers, `hf:...`: a folder or file with a configuration, a type of model, or a name on the hub.

`family.py` builds a case's workload: the model (`models.py`), the inputs that its `forward` takes (`inputs.py`), and
for a model that generates text one of its steps (`generation.py`).
"""
