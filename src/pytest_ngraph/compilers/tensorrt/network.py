"""Parse an ONNX file with TensorRT, strongly typed, and build a plan from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_ngraph.compilers import threads
from pytest_ngraph.compilers.tensorrt.library import Library
from pytest_ngraph.errors import NgraphError, Unsupported


class Network:
    """A parsed network.

    Attributes:
        config: the builder's configuration, to be set before `build`.
    """

    def __init__(self, lib: Library, onnx: Path) -> None:
        """Parse the file, whose types set the precision.

        Raises:
            Unsupported: TensorRT lacks operators, which the message names.
            NgraphError: any other failure.
        """
        lib.messages.clear()
        self._library = lib
        self._file = onnx
        self._builder = _builder(lib)
        # Keeps the graph's types: without this flag, releases before 11 may choose others.
        strongly_typed = 1 << int(lib.module.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
        self._network = lib.require(self._builder.create_network(strongly_typed), "create a network")
        self._parser = _parse(lib, self._network, onnx)  # kept: the parser's memory holds the network's weights
        self.config: Any = lib.require(self._builder.create_builder_config(), "create a configuration")
        # On by default: fp32 would be computed with 11 significant bits.
        self.config.clear_flag(lib.module.BuilderFlag.TF32)

    @property
    def inputs(self) -> list[str]:
        """Names in the graph's order."""
        return [self._network.get_input(index).name for index in range(self._network.num_inputs)]

    @property
    def outputs(self) -> list[str]:
        """Names in the graph's order."""
        return [self._network.get_output(index).name for index in range(self._network.num_outputs)]

    def build(self, *, detailed: bool = False) -> memoryview:
        """Choose kernels and return the serialized engine.

        Args:
            detailed: whether its layers say what they are, and which nodes of the file went into them.
        """
        if detailed:
            self.config.profiling_verbosity = self._library.module.ProfilingVerbosity.DETAILED
        if hasattr(self._builder, "max_threads"):
            self._builder.max_threads = len(threads.compiling_cores())
        plan = self._builder.build_serialized_network(self._network, self.config)
        return memoryview(self._library.require(plan, f"build {self._file.name}"))


def _builder(lib: Library) -> Any:
    try:
        return lib.module.Builder(lib.logger)
    except TypeError as error:  # raised for a null pointer: no GPU, or a driver that is too old
        raise NgraphError(f"{lib.name} {lib.version} could not create a builder: {lib.take_messages()}") from error


def _parse(lib: Library, network: Any, onnx: Path) -> Any:
    parser = lib.module.OnnxParser(network, lib.logger)
    if parser.parse_from_file(str(onnx)):
        return parser
    errors = [parser.get_error(index) for index in range(parser.num_errors)]
    problems = "; ".join(_describe(error) for error in errors) or lib.take_messages()
    kind = Unsupported if errors and all(error.node_operator() for error in errors) else NgraphError
    raise kind(f"{lib.name} {lib.version} cannot parse {onnx.name}: {problems}")


def _describe(error: Any) -> str:
    """Return the parser's error as text: operator, node and reason. An error about the file has no operator."""
    reason = " ".join(error.desc().split())
    if not error.node_operator():
        return reason
    return f"operator {error.node_operator()} (node {error.node_name() or error.node()}): {reason}"
