"""Run pytest-ngraph on ARM without a board: Debian for arm64, its programs run by QEMU's user mode through proot.

    python tools/arm_emulated.py FOLDER
    python tools/arm_emulated.py FOLDER --tests tests/machine tests/system [PYTEST OPTION ...]

It needs Debian or Ubuntu, root (it installs mmdebstrap, proot and qemu-user-static with apt-get), and patience. What it
prints is a table of compiler x model: built and agrees with eager PyTorch, or why not. With `--tests`, it runs these of
the project's own tests instead, except those that need a quiet machine or minutes, and prints how many passed, and what
did not. No times are measured, because they mean nothing there.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

PROJECT = Path(__file__).parents[1]
DEBIAN, PYTHON = "bookworm", "3.11"
SYSTEM = ("mmdebstrap", "proot", "qemu-user-static")
INCLUDED = ("python3", "libstdc++6", "libgomp1", "g++", "openssl", "git", "dash", "coreutils", "grep", "sed")
# Every C library up to Debian's. pip takes these names as they are: the newest alone would leave out older wheels.
PLATFORMS = (*(f"manylinux_2_{minor}_aarch64" for minor in range(36, 16, -1)), "manylinux2014_aarch64")
# Without their dependencies: pip would read those for this machine. Newer wheels of torch for aarch64 want CUDA's
# libraries. executorch and torchao are those that belong to this torch.
PACKAGES = (
    *("torch==2.10.0", "torchvision==0.25.0", "numpy", "psutil", "typing_extensions", "sympy", "mpmath", "networkx"),
    *("jinja2", "markupsafe", "fsspec", "filelock", "packaging", "setuptools", "cloudpickle"),
    *("pytest", "pluggy", "iniconfig", "pytest-benchmark", "py-cpuinfo", "pygments"),
    *("onnx", "onnxscript", "onnx_ir", "ml_dtypes", "onnxruntime", "flatbuffers", "protobuf", "coloredlogs"),
    "humanfriendly",
    *("timm", "torchinfo", "huggingface_hub", "safetensors", "pyyaml", "tqdm", "pillow", "requests"),
    *("openvino", "openvino-telemetry", "apache-tvm", "apache-tvm-ffi==0.1.14.post1", "executorch==1.1.0"),
    *("tabulate", "ruamel.yaml", "torchao==0.15.0", "pandas", "python-dateutil", "six"),
)  # fmt: skip
FOR_TESTS = ("hypothesis", "sortedcontainers", "attrs", "polars", "polars-runtime-32")
COMPILERS = ("identity", "torchscript", "inductor", "onnxruntime", "openvino", "tvm", "executorch")
MODELS = ("conv", "mha", "resnet18")
# ONNX Runtime ends at its import where /proc/cpuinfo is that of an x86 machine.
CPUINFO = """processor\t: 0
BogoMIPS\t: 50.00
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: 0xd0c
CPU revision\t: 1

"""
TEST = """
import pytest

@pytest.mark.ngraph(workload={models!r}, compiler={compilers!r}, batch_size=1{sizes})
def {name}(measurement): ...
"""
BLOCKS = ("conv", "mha")
RUN = """
import sys
sys.path.insert(0, "/site")
import pytest
sys.exit(pytest.main(["-q", "--junitxml=/result.xml", *sys.argv[1:]]))
"""
BRIEFLY = ("test_arm.py", "--benchmark-disable", "--ngraph-cache=off")
FLATC = "/site/executorch/data/bin/flatc"
"""The script of this name is written for the Python that installed it."""
FINE = "agrees"


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--compilers", default=",".join(COMPILERS))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--mirror", default="", help="of Debian; by default the one that mmdebstrap chooses")
    parser.add_argument(
        "--tests", nargs=argparse.REMAINDER, default=[], help="run pytest instead, with all that follows"
    )
    given = parser.parse_args()
    compilers, models = given.compilers.split(","), given.models.split(",")
    folder = given.folder.absolute()
    if not (folder / "root/site").exists():
        build(folder, given.mirror)
    install(folder, "--upgrade", str(PROJECT))
    if given.tests:
        copy_project(folder)
        print(summary(run(folder, "project", "-m", "not alone and not slow", *given.tests)))
        return 0
    (folder / "root/p/pytest.ini").write_text("[pytest]\n")
    (folder / "root/p/test_arm.py").write_text(tests(compilers, models))
    print(table(outcomes(run(folder, "p", *BRIEFLY)), compilers, models))
    return 0


def build(folder: Path, mirror: str) -> None:
    """Unpack Debian for arm64 with Python, and install the packages' wheels for aarch64 into it."""
    folder.mkdir(parents=True, exist_ok=True)
    if missing := [name for name in SYSTEM if shutil.which(name.replace("-user-static", "-aarch64-static")) is None]:
        _run("apt-get", "install", "-y", "-q", *missing)
    root = folder / "root"
    include = f"--include={','.join(INCLUDED)}"
    _run(
        "mmdebstrap",
        "--variant=extract",
        "--arch=arm64",
        "--mode=root",
        include,
        DEBIAN,
        str(root),
        *filter(None, [mirror]),
    )
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/bash\n")  # without which torch is not imported
    for name in ("root", "p"):
        (root / name).mkdir(exist_ok=True)
    found = root / f"usr/local/lib/python{PYTHON}/dist-packages"  # also by a process that is started without PYTHONPATH
    found.mkdir(parents=True, exist_ok=True)
    (found / "site.pth").write_text("/site\n")
    platforms = [f"--platform={platform}" for platform in PLATFORMS]
    install(folder, *platforms, "--only-binary=:all:", f"--python-version={PYTHON}", *PACKAGES, *FOR_TESTS)


def install(folder: Path, *arguments: str) -> None:
    """Install packages into the system's folder `site`, without what they depend on."""
    site = ["--quiet", "--no-deps", "--target", str(folder / "root/site")]
    _run(sys.executable, "-m", "pip", "install", *site, *arguments)


def copy_project(folder: Path) -> None:
    """Copy the files of the project that git knows to where their tests run, instead of those of an earlier run."""
    shutil.rmtree(folder / "root/project", ignore_errors=True)
    known = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, known.split("\0")):
        to = folder / "root/project" / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PROJECT / name, to)


def run(folder: Path, within: str, *arguments: str) -> str:
    """Run pytest in a folder of the emulated system, and return its JUnit file. What fails is in that."""
    root = folder / "root"
    (folder / "cpuinfo").write_text(CPUINFO)
    (root / "run.py").write_text(RUN)
    result = root / "result.xml"
    result.unlink(missing_ok=True)  # of an earlier run
    bound = [f"--bind={path}" for path in ("/proc", "/dev", "/sys", f"{folder / 'cpuinfo'}:/proc/cpuinfo")]
    python = (f"/usr/bin/python{PYTHON}", "/run.py", *arguments)
    subprocess.run(
        ["proot", "-q", "qemu-aarch64-static", "-r", str(root), *bound, "-w", f"/{within}", *python],
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": "/root",
            "PYTHONPATH": "/site",
            "QEMU_CPU": "neoverse-n1",
            "FLATC_EXECUTABLE": FLATC,
        },
        check=False,
        preexec_fn=without_faccessat2,
    )
    if not result.exists():
        sys.exit("pytest ended before it wrote its result. What it printed above says why.")
    return result.read_text()


def without_faccessat2() -> None:
    """Let this process and its children do without the system call `faccessat2`, as on an old kernel.

    proot 5.1, Debian's, does not know it and leaves its path as it is, so that no program is found executable: g++ does
    not start its own parts. The C library then falls back to a call that proot knows.
    """
    faccessat2, refused, allowed = 439, 0x00050000 | errno.ENOSYS, 0x7FFF0000  # seccomp(2)
    load, jump, give = 0x20, 0x15, 0x06  # linux/filter.h: of the call's number, the first four bytes; if equal; return
    steps = ((load, 0, 0, 0), (jump, 0, 1, faccessat2), (give, 0, 0, refused), (give, 0, 0, allowed))
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = struct.pack("@HP", len(steps), ctypes.addressof(code))
    no_new_privileges, seccomp, by_filter = 38, 22, 2  # prctl(2)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(no_new_privileges, 1, 0, 0, 0)
    if libc.prctl(seccomp, by_filter, program, 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel takes no filter of system calls")


def tests(compilers: Sequence[str], models: Sequence[str]) -> str:
    """Return the test file: a test of the blocks, which are small ones, and one of the other models."""
    blocks = [model for model in models if model in BLOCKS]
    others = [model for model in models if model not in BLOCKS]
    kinds = (("test_block", blocks, ", depth=1, width=16"), ("test_model", others, ""))
    return "\n".join(
        TEST.format(name=name, models=own, compilers=list(compilers), sizes=sizes) for name, own, sizes in kinds if own
    )


def summary(junit: str) -> str:
    """Return how many tests passed and were skipped, and what did not pass, by name, with its message."""
    counts = dict.fromkeys(("passed", "skipped", "failure", "error"), 0)
    problems = []
    for case in ElementTree.fromstring(junit).iter("testcase"):
        kind, message = _outcome(case)
        counts[kind] += 1
        if kind in ("failure", "error"):
            problems.append(f"- {case.get('classname')}::{case.get('name')}: {message.strip().partition(chr(10))[0]}")
    return "\n".join([", ".join(f"{count} {kind}" for kind, count in counts.items()), *problems])


def outcomes(junit: str) -> dict[tuple[str, str], str]:
    """Return what became of each model under each compiler, by both names, from pytest's JUnit file."""
    found = {}
    for case in ElementTree.fromstring(junit).iter("testcase"):
        model, compiler, *_ = case.get("name", "").partition("[")[2].split("-")
        kind, message = _outcome(case)
        found[model, compiler] = FINE if kind == "passed" else f"{kind}: {message}"
    return found


def _outcome(case: ElementTree.Element) -> tuple[str, str]:
    """Return whether a test `passed`, was `skipped`, or is a `failure` or `error`, and its message."""
    problem = next((part for part in case if part.tag in ("failure", "error", "skipped")), None)
    return ("passed", "") if problem is None else (problem.tag, problem.get("message", ""))


def table(found: Mapping[tuple[str, str], str], compilers: Iterable[str], models: Sequence[str]) -> str:
    """Return a Markdown table, with a row for each compiler, and below it why what does not agree does not."""
    lines = [f"| compiler | {' | '.join(models)} |", f"| --- |{' --- |' * len(models)}"]
    reasons: dict[str, int] = {}
    for compiler in compilers:
        cells = []
        for model in models:
            outcome = found.get((model, compiler), "error: not run")
            kind = outcome.partition(":")[0]
            cells.append(FINE if outcome == FINE else f"{kind} ({reasons.setdefault(outcome, len(reasons) + 1)})")
        lines.append(f"| `{compiler}` | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"{number}. {reason}" for reason, number in reasons.items())])


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    raise SystemExit(main())
