"""ONNX files as workloads.

An ONNX file enters; its graph leaves at the case's batch size and sizes, with inputs and the reference outputs of ONNX
Runtime with all optimizations off. Open `file.py` first, then `axes.py` (open axes), `inputs.py` (given or drawn) and
`roles.py` (what an integer input means, found in the graph). `graph.py` reads and writes files, `nodes.py` walks their
graphs, `rows.py` says which outputs are compared as sets, and `values.py` has what is no tensor of numbers: texts,
sequences, maps, optional values.
"""
