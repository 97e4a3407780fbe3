"""Processors, by the texts with which Linux describes them."""

from __future__ import annotations

import pytest

from pytest_ngraph.machine.processor import described, for_computing

X86 = (
    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
    "model name\t: Intel(R) Xeon(R) Processor\nstepping\t: 8\nmicrocode\t: 0x2b000603\n"
    "flags\t\t: fpu avx512f\n\nprocessor\t: 1\n"
)
GRAVITON = (
    "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\n"
    "CPU part\t: 0xd40\nCPU revision\t: 1\n"
)
ORIN = "processor\t: 0\nmodel name\t: ARMv8 Processor rev 1 (v8l)\nFeatures\t: fp asimd\nCPU part\t: 0xd42\n"


@pytest.mark.parametrize(
    ("cpuinfo", "board", "name", "instruction_sets"),
    [
        (X86, "", "Intel(R) Xeon(R) Processor", {"fpu", "avx512f"}),
        (GRAVITON, "", "implementer 0x41, part 0xd40", {"fp", "asimd"}),
        (ORIN, "Jetson AGX Orin", "Jetson AGX Orin, ARMv8 Processor rev 1 (v8l)", {"fp", "asimd"}),
        ("", "", "", set()),
    ],
)
def test_a_processor_is_named_as_linux_reports_it(
    cpuinfo: str, board: str, name: str, instruction_sets: set[str]
) -> None:
    found = described(cpuinfo, board)
    assert (found.name, found.instruction_sets) == (name, frozenset(instruction_sets))


def test_generations_of_one_name_differ_in_model_and_microcode() -> None:
    sapphire = described(X86, "")
    skylake = described(X86.replace(": 143", ": 85").replace("0x2b000603", "0x1"), "")
    assert sapphire.name == skylake.name
    assert sapphire.model == "GenuineIntel family 6 model 143 stepping 8"
    assert skylake.model == "GenuineIntel family 6 model 85 stepping 8"
    assert (sapphire.microcode, skylake.microcode) == ("0x2b000603", "0x1")


def test_an_arm_processor_has_the_numbers_of_its_main_id_register() -> None:
    found = described(GRAVITON, "")
    assert found.model == "implementer 0x41 architecture 8 variant 0x1 part 0xd40 revision 1"
    assert found.microcode == ""


def test_the_kinds_of_cores_are_all_named_in_whatever_order_they_come() -> None:
    big = GRAVITON.replace("0xd40", "0xd41")
    found = described(f"{GRAVITON}\n{big}\n{GRAVITON}", "").model
    assert found == described(f"{big}\n{GRAVITON}", "").model
    assert found.count("part") == 2


def test_a_board_with_big_and_little_cores_has_both_in_name_and_model() -> None:
    """An RK3588's `/proc/cpuinfo` has no model name, no "physical id", and a paragraph for each core."""
    little = "processor\t: 0\nFeatures\t: fp asimd dotprod\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n"
    big = little.replace(": 0\n", ": 4\n", 1).replace("0xd05", "0xd0b")
    found = described(f"{little}\n{big}", "Radxa ROCK 5B")
    assert found.name == "Radxa ROCK 5B"
    assert described(f"{little}\n{big}", "").name == "implementer 0x41, part 0xd05, 0xd0b"
    assert found.model == "implementer 0x41 part 0xd05, implementer 0x41 part 0xd0b"
    assert "dotprod" in for_computing(found.instruction_sets, "aarch64")


def test_of_the_flags_those_are_for_computing_that_code_is_chosen_by() -> None:
    flags = frozenset({"fpu", "avx512f", "avx2", "amx_tile", "fma", "bhi_ctrl", "hypervisor", "sha_ni"})
    assert for_computing(flags, "x86_64") == ["amx_tile", "avx2", "avx512f", "fma", "sha_ni"]
    assert for_computing(frozenset({"sve", "asimd"}), "aarch64") == ["asimd", "sve"]
