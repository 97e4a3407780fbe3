"""AOTInductor's files are cut into parts, each of which compiles by itself, or left whole."""

from __future__ import annotations

import pytest

from pytest_ngraph.compilers.inductor import cpp_parts
from pytest_ngraph.compilers.inductor.cpp_parts import BEFORE_RUNNING, CONSTRUCTOR, Part, parts

INTERFACE = "// interface\n#include <model.h>\nextern int run();\n"
WRAPPER = f"""#include <cpu.h>
{INTERFACE}extern "C" void kernel();
namespace torch::aot_inductor {{
{CONSTRUCTOR}) {{ weights(); }}
{BEFORE_RUNNING}void AOTInductorModel::run_impl() {{ kernel(); }}
}} // namespace torch::aot_inductor
"""


@pytest.fixture(autouse=True)
def interface(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpp_parts, "_interface", lambda: INTERFACE)


def test_each_function_of_a_wrapper_is_in_one_part() -> None:
    found = parts("x.wrapper.cpp", WRAPPER)
    assert [part.is_common for part in found] == [False, False, True]
    for function in ("extern int run();", "weights();", "kernel(); }"):
        assert sum(function in part.text for part in found) == 1


def test_parts_have_the_declarations_that_they_need() -> None:
    *own, common = parts("x.wrapper.cpp", WRAPPER)
    for part in own:
        assert part.text.startswith("#include <cpu.h>\n#include <model.h>\n")
        assert 'extern "C" void kernel();' in part.text
        assert part.text.count("{") == part.text.count("}")
    assert common.text == f"#include <cpu.h>\n{INTERFACE}"


@pytest.mark.parametrize("mark", [INTERFACE, CONSTRUCTOR, BEFORE_RUNNING])
@pytest.mark.parametrize("times", [0, 2])
def test_a_wrapper_that_looks_otherwise_stays_whole(mark: str, times: int) -> None:
    other = WRAPPER.replace(mark, times * mark)
    assert parts("x.wrapper.cpp", other) == [Part(other)]


@pytest.mark.parametrize("kind", ["kernel", "main"])
def test_other_files_stay_whole(kind: str) -> None:
    assert parts(f"x.{kind}.cpp", WRAPPER) == [Part(WRAPPER)]
