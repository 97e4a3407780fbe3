"""Serve TensorRT's plan, with PyTorch's tensors as its buffers on the GPU."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_ngraph.compilers.serving import Serving

CODE = '''
INPUTS, OUTPUTS = {inputs!r}, {outputs!r}
TYPES = {types!r}


def load():
    """Return the runtime, the engine and a context in which it runs."""
    runtime = {module}.Runtime({module}.Logger({module}.Logger.ERROR))
    engine = runtime.deserialize_cuda_engine((HERE / "{file}").read_bytes())
    return runtime, engine, engine.create_execution_context()


def answer(model, inputs):
    """Return the outputs, a list of arrays, of any floating-point type as float32."""
    require(inputs)
    _, engine, context = model
    given = {{name: torch.from_numpy(array).contiguous() for name, array in zip(INPUTS, inputs)}}
    tensors = {{name: tensor.to("cuda", dtype(engine, name)) for name, tensor in given.items()}}
    for name, tensor in tensors.items():
        if not context.set_input_shape(name, tuple(tensor.shape)):
            raise RuntimeError(f"TensorRT does not take {{name}} of shape {{tuple(tensor.shape)}}")
    for name in OUTPUTS:
        shape = tuple(context.get_tensor_shape(name))
        tensors[name] = torch.empty(shape, dtype=dtype(engine, name), device="cuda")
    for name, tensor in tensors.items():
        if not context.set_tensor_address(name, tensor.data_ptr()):
            raise RuntimeError(f"TensorRT does not take the address of {{name}}")
    stream = torch.cuda.current_stream()
    if not context.execute_async_v3(stream.cuda_stream):
        raise RuntimeError("TensorRT could not run the plan")
    stream.synchronize()
    outputs = (tensors[name].cpu() for name in OUTPUTS)
    return [(each.float() if each.is_floating_point() else each).numpy() for each in outputs]


def dtype(engine, name):
    """Return the type of an input or output as PyTorch names it."""
    return getattr(torch, TYPES[engine.get_tensor_dtype(name).name])
'''


def deploy(
    module: str, source: Path, folder: Path, *, inputs: Sequence[str], outputs: Sequence[str], types: Mapping[str, str]
) -> Serving:
    """Write the plan.

    Args:
        module: `tensorrt` or `tensorrt_rtx`.
        source: the plan.
        inputs: names in the graph's order.
        outputs: likewise.
        types: PyTorch's name of a type by TensorRT's.
    """
    shutil.copyfile(source, folder / source.name)
    return Serving(
        libraries=(module, "torch"),
        imports=(f"import {module}", "import torch"),
        code=CODE.format(
            module=module, file=source.name, inputs=list(inputs), outputs=list(outputs), types=dict(types)
        ),
        files={source.name: "TensorRT's plan, for this GPU and this version"},
        takes_any=True,
    )
