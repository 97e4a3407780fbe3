"""ONNX files as workloads.

An ONNX file enters; its graph leaves at the case's batch size and sizes, with inputs and the reference outputs of ONNX
Runtime with all optimizations off. Open `file.py` first, then `axes.py` (open axes), `formulas.py` (axes called by
`past + 1`), `inputs.py` (given or drawn), `roles.py` (what an integer input means, found in the graph) and `rows.py`
(which outputs are compared as sets). `graph.py` reads and writes files, `nodes.py` walks their graphs, and `values.py`
has what is no tensor of numbers: texts, sequences, maps, optional values.
"""
