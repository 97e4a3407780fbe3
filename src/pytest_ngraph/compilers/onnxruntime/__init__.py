"""ONNX Runtime: the exported program as ONNX (or an ONNX file unchanged), in a session of one execution provider.

In: an artifact, which `onnx_export.py` writes as ONNX. Out: the file in the folder, and from it a model that runs. This
file holds the compiler and its options. `session.py` runs tensors in place, `values.py` whatever else ONNX Runtime
takes, and `placement.py` counts the nodes that each provider got.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.case import Objective
from pytest_ngraph.compilers import (
    CompiledModel,
    cuda,
    kinds,
    program,
    pytorch,
    refuse_precision,
    streams,
    threads,
)
from pytest_ngraph.compilers.onnx_export import real, write_onnx, write_traced_onnx
from pytest_ngraph.compilers.onnxruntime import placement
from pytest_ngraph.compilers.onnxruntime.session import OnnxSessionModel
from pytest_ngraph.compilers.onnxruntime.values import OnnxValuesModel
from pytest_ngraph.compilers.profiling import ProfiledModel
from pytest_ngraph.compilers.profiling import onnxruntime as profiling
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.compilers.serving import onnxruntime as serving
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.system import onnx_distributions
from pytest_ngraph.system.files import user_folder
from pytest_ngraph.workloads.nodes import nodes, of_onnx
from pytest_ngraph.workloads.onnx import custom_operators
from pytest_ngraph.workloads.onnx import values as onnx_values

Provider = Literal["auto", "cpu", "cuda", "tensorrt", "openvino", "dnnl"]
Optimization = Literal["all", "extended", "basic", "none"]
Opset = Literal["auto", "20", "23"]

FILE = "model.onnx"
REWRITTEN = "rewritten.txt"
"""What was fused: `sdpa 12, bias_gelu 12`."""
PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
    "dnnl": "DnnlExecutionProvider",
}
ON_GPU = ("cuda", "tensorrt")
SAME_FOR_ALL = {"cudnn_conv_algo_search": "EXHAUSTIVE", "enable_cuda_graph": "0"}
"""What PyTorch does on a GPU, too: cuDNN times its algorithms, and no CUDA graph is replayed."""
LEVELS = {
    "all": "ORT_ENABLE_ALL",
    "extended": "ORT_ENABLE_EXTENDED",
    "basic": "ORT_ENABLE_BASIC",
    "none": "ORT_DISABLE_ALL",
}


@dataclass(frozen=True)
class OnnxRuntime:
    """ONNX Runtime with one execution provider.

    Attributes:
        provider: what executes the graph; `auto` is the device's kind.
        optimization: level of graph optimizations.
        opset: version of ONNX's operators in the graph; `auto` leaves it to the exporter. From 23 on, attention is one
            operator.
        rewrite: fuse operators into those that only ONNX Runtime has, with `onnxscript.rewriter`: attention, GELU with
            its bias, normalization with the addition before it. The fact `rewritten` says what was fused.
        fallback: let other providers run the operators that this one lacks, which ONNX Runtime does silently; the fact
            `nodes` gives the share of each. `false` fails such a graph.
        graph: what becomes ONNX: the module, its exported program, or (`auto`) the module only where `torch.export`
            refuses it. Of a module ONNX Runtime gets a trace, which holds only what the module did for these inputs:
            then the fact `source` is `trace`.
    """

    provider: Provider = "auto"
    optimization: Optimization = "all"
    opset: Opset = "auto"
    rewrite: bool = False
    fallback: bool = True
    graph: pytorch.Graph = "auto"

    libraries: ClassVar[tuple[str, ...]] = ("onnxruntime", "onnx", "onnxscript")
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu", "cuda")
    objectives: ClassVar[tuple[Objective, ...]] = ("latency", "throughput")
    install_hint: ClassVar[str] = 'For NVIDIA GPUs: "pytest-ngraph[onnxruntime-gpu]" in its place'

    def runs_module(self, artifact: Artifact) -> bool:
        """Return whether it runs a trace of the module itself."""
        return pytorch.is_module(self.graph, artifact)

    def for_priming(self) -> OnnxRuntime:
        return self

    def worth_trying(self, target: Target) -> dict[str, float]:
        """Return fusions beyond its own, its own without layouts of the processor, and attention as one operator."""
        return {"rewrite=true": 1.5, "optimization=extended": 1.0, "opset=23,rewrite=true": 1.5}

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        """Write the ONNX graph, which `load` optimizes for the provider. An ONNX workload needs none."""
        self._refuse(target)
        opset = None if self.opset == "auto" else int(self.opset)
        if self.runs_module(artifact):
            if self.rewrite:
                raise Unsupported("onnxruntime:rewrite takes exported programs: measure a module without it")
            write_traced_onnx(artifact, target, folder / FILE, opset=opset)
        elif artifact.onnx is None:
            counts = write_onnx(artifact, folder / FILE, opset=opset, rewrite=self.rewrite)
            if self.rewrite:
                fused = ", ".join(f"{name} {count}" for name, count in counts.items())
                (folder / REWRITTEN).write_text(fused or "nothing")
        elif self.rewrite or self.opset != "auto":
            raise Unsupported(
                f"{artifact.case.workload} is an ONNX file, which runs unchanged: measure it without "
                "onnxruntime:opset and onnxruntime:rewrite"
            )

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        self._refuse(target)
        session = self._session(artifact, artifact.onnx or folder / FILE, target, folder)
        if not self.fallback:
            placement.refuse_fallback(placement.nodes(session), PROVIDERS[self._provider(target)])
        facts = self._facts(session, artifact, target)
        if self.rewrite:
            facts["rewritten"] = (folder / REWRITTEN).read_text()
        if (values := onnx_values.load(artifact)) is not None:
            return streams.load(lambda on: OnnxValuesModel(session, values, facts), artifact, target)
        inputs = real(program.inputs(artifact, kinds.device(target)))
        # All streams run one session, which is safe from several threads: its weights are in memory once.
        return streams.load(lambda on: OnnxSessionModel(session, inputs, on, facts), artifact, target)

    def _refuse(self, target: Target) -> None:
        """Raise `Unsupported` for what the provider cannot run, or would run in another precision."""
        try:
            import onnxruntime
        except ImportError as error:
            mend = onnx_distributions.to_import()
            raise Unsupported(f"onnxruntime cannot be imported ({error}): {mend}") from None
        provider = self._provider(target)
        if (provider in ON_GPU) != (target.kind == "cuda"):
            raise Unsupported(f"onnxruntime:provider={provider} does not run on a device of kind {target.kind}")
        available = onnxruntime.get_available_providers()
        if PROVIDERS[provider] not in available:
            mend = onnx_distributions.overwritten() or onnx_distributions.instead(provider)
            raise Unsupported(
                f"this build of onnxruntime lacks {PROVIDERS[provider]}; it has {', '.join(available)}"
                f"{'. ' + mend if mend else ''}"
            )
        # On a CPU, few kernels have lower precision: most of the graph would be computed in fp32 between casts.
        refuse_precision("onnxruntime", target, ("fp32", "fp16", "bf16") if provider in ON_GPU else ("fp32",))
        if target.objective == "throughput" and provider in ("openvino", "dnnl"):
            raise Unsupported(
                f"onnxruntime:provider={provider} has threads of its own, so it cannot run one stream per core; "
                "measure it for latency"
            )

    def _provider(self, target: Target) -> str:
        return target.kind if self.provider == "auto" else self.provider

    def _session(
        self,
        artifact: Artifact,
        path: Path,
        target: Target,
        folder: Path,
        change: Callable[[Any], None] = lambda options: None,
    ) -> Any:
        import onnxruntime as ort
        from onnxruntime.capi import onnxruntime_pybind11_state as errors

        provider = self._provider(target)
        try:
            with threads.spread(target):
                providers = _providers(provider, target, folder)
                change(options := self._options(target))
                custom_operators.register(options, artifact.custom_ops)
                session = ort.InferenceSession(path, options, providers=providers)
        except errors.NotImplemented as error:
            raise Unsupported(f"onnxruntime has no kernel for an operator of this graph: {error}") from error
        except errors.InvalidGraph as error:  # an operator of ONNX does not take one of the types, such as bfloat16
            raise Unsupported(f"onnxruntime refuses this graph: {error}") from error
        # ONNX Runtime falls back to the CPU without an error when a provider's libraries cannot be loaded.
        if session.get_providers()[0] != PROVIDERS[provider]:
            raise Unsupported(
                f"onnxruntime could not load {PROVIDERS[provider]} and fell back to {session.get_providers()[0]}"
            )
        return session

    def _options(self, target: Target) -> Any:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, LEVELS[self.optimization])
        computing = target.cores if target.objective == "latency" else target.cores[:1]
        options.intra_op_num_threads = len(computing)
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        placement.record(options)
        # Threads spin for work during a run and sleep when it ends. If they kept spinning, those of an idle session
        # would take the cores from the session that it alternates with.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        if threads.is_bound() and len(computing) > 1:
            # One list of processors, counted from 1, per thread; the caller is not listed, it is on the first core.
            helpers = ";".join(str(core + 1) for core in computing[1:])
            options.add_session_config_entry("session.intra_op_thread_affinities", helpers)
        return options

    def _facts(self, session: Any, artifact: Artifact, target: Target) -> dict[str, str]:
        import onnxruntime as ort

        return {
            "version": ort.__version__,
            "distribution": " ".join(onnx_distributions.installed()),
            "precision": program.precision(artifact, target),
            "provider": session.get_providers()[0],
            "threads": str(session.get_session_options().intra_op_num_threads),
            "optimization": self.optimization,
            **({"source": "trace"} if self.runs_module(artifact) else {}),
            **placement.facts(placement.nodes(session)),
            **({"tf32": "False", "cudnn_autotune": "True", "cuda_graphs": "off"} if target.kind == "cuda" else {}),
        }

    def deploy(self, artifact: Artifact, target: Target, compiled: Path, folder: Path) -> Serving:
        """Write the graph, and what the optimizations made of it."""
        name, options = _providers(self._provider(target), target, compiled)[0]
        if name not in (PROVIDERS["cpu"], PROVIDERS["cuda"]):
            raise Unsupported(f"onnxruntime:provider={self.provider} cannot be deployed: only cpu and cuda can")
        options = {key: value for key, value in options.items() if key != "user_compute_stream"}  # of this process
        source = artifact.onnx or compiled / FILE
        return serving.deploy(
            artifact, target, source, folder, provider=(name, options), level=LEVELS[self.optimization]
        )

    def instrument(self, artifact: Artifact, target: Target, compiled: Path) -> ProfiledModel:
        """Return sessions that write profiles. Raise `Unsupported` on a GPU, where they time only the launches."""
        if self._provider(target) != "cpu":
            raise Unsupported(f"onnxruntime:provider={self._provider(target)} cannot be profiled: only cpu can")
        if unusual := onnx_values.reasons(artifact):
            raise Unsupported(f"onnxruntime profiles tensors of numbers, and this graph has {', '.join(unusual)}")
        return profiling.ProfiledSession(
            artifact.onnx or compiled / FILE,
            lambda path, change: self._session(artifact, path, target, compiled, change),
            real(program.inputs(artifact)),
            of_onnx(compiled / FILE, traced=True) if self.runs_module(artifact) else nodes(artifact),
            origins=artifact.onnx is None and not self.runs_module(artifact),
        )


def _providers(provider: str, target: Target, folder: Path) -> list[tuple[str, dict[str, str]]]:
    """Return the provider with its options, then those that run the operators it lacks."""
    if provider == "openvino":
        options = {"device_type": "CPU", "precision": "FP32", "num_of_threads": str(target.threads)}
        return [(PROVIDERS["openvino"], options), (PROVIDERS["cpu"], {})]
    if provider not in ON_GPU:
        return [(PROVIDERS[provider], {})]
    stream = str(cuda.own_stream().cuda_stream)
    on_cuda = (PROVIDERS["cuda"], {"user_compute_stream": stream, "use_tf32": "0", **SAME_FOR_ALL})
    if provider == "cuda":
        return [on_cuda]
    # As TensorRT's own timing cache: two revisions then differ by what was changed, not by which kernel won a race.
    times = user_folder() / "onnxruntime-tensorrt"
    times.mkdir(parents=True, exist_ok=True)
    cache = {
        "trt_engine_cache_enable": "1",
        "trt_engine_cache_path": str(folder),
        "trt_timing_cache_enable": "1",
        "trt_timing_cache_path": str(times),
        "trt_cuda_graph_enable": "0",
    }
    return [(PROVIDERS["tensorrt"], {"user_compute_stream": stream, **cache}), on_cuda]
