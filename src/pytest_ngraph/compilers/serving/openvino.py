"""Serve OpenVINO's intermediate representation."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from pytest_ngraph.artifact import Target
from pytest_ngraph.compilers.serving import Serving

CODE = '''
PROPERTIES = {properties}


def load():
    """Return the compiled model."""
    return openvino.Core().compile_model(HERE / "{file}", "{device}", PROPERTIES)


def answer(model, inputs):
    """Return the outputs, a list of arrays."""
    require(inputs)
    return list(model(inputs).values())
'''
IN_THREADS = '''
PROPERTIES = {properties}
OWN = threading.local()  # a request for each thread


def load():
    """Return the compiled model."""
    return openvino.Core().compile_model(HERE / "{file}", "{device}", PROPERTIES)


def answer(model, inputs):
    """Return the outputs, a list of arrays. Several threads may call it at a time."""
    require(inputs)
    if getattr(OWN, "model", None) is not model:
        OWN.model, OWN.request = model, model.create_infer_request()
    return list(OWN.request.infer(inputs, share_inputs=True).values())
'''
SILENT = 'sys.modules.setdefault("openvino_telemetry", None)  # as measured: it uploads no usage statistics'


def deploy(
    target: Target, source: Path, folder: Path, *, device: str, properties: Mapping[str, object], requests: int
) -> Serving:
    """Write the graph and its weights, taking and giving float32 where it has bfloat16, which NumPy lacks.

    Args:
        source: the intermediate representation.
        device: OpenVINO's name of the device.
        properties: those that it is compiled with. Its threads are bound to no cores: other services may use them.
        requests: for throughput, how many requests run side by side.
    """
    _write(source, folder)
    in_threads = target.objective == "throughput"
    code = (IN_THREADS if in_threads else CODE).format(
        properties=_code(_unbound(properties)), file=source.name, device=device
    )
    return Serving(
        libraries=("openvino",),
        imports=("import openvino", *(["import threading"] if in_threads else [])),
        before=(SILENT,),
        code=code,
        files={source.name: "OpenVINO's graph", source.with_suffix(".bin").name: "its weights"},
        streams=requests if in_threads else 1,
        takes_any=True,
    )


def _write(source: Path, folder: Path) -> None:
    import openvino
    from openvino.preprocess import PrePostProcessor

    model = openvino.Core().read_model(source)
    steps = PrePostProcessor(model)
    changed = False
    for ports, tensors in ((model.inputs, steps.input), (model.outputs, steps.output)):
        for index, port in enumerate(ports):
            if port.get_element_type() == openvino.Type.bf16:
                tensors(index).tensor().set_element_type(openvino.Type.f32)
                changed = True
    if changed:
        openvino.save_model(steps.build(), folder / source.name, compress_to_fp16=False)
        return
    for suffix in (".xml", ".bin"):
        shutil.copyfile(source.with_suffix(suffix), folder / source.with_suffix(suffix).name)


def _unbound(properties: Mapping[str, object]) -> dict[str, object]:
    """Return the properties with threads that are bound to no cores; also those of devices to choose from."""
    return {
        name: False if name == "ENABLE_CPU_PINNING" else _unbound(value) if isinstance(value, Mapping) else value
        for name, value in properties.items()
    }


def _code(properties: Mapping[str, object]) -> str:
    """Return the properties as Python, a line each."""
    values = {name: "THREADS" if name == "INFERENCE_NUM_THREADS" else repr(value) for name, value in properties.items()}
    return "\n".join(["{", *(f"    {name!r}: {value}," for name, value in values.items()), "}"]).replace("'", '"')
