"""The cost of the harness itself, besides what it measures.

    python benchmarks/peers/harness.py [--write]
    python benchmarks/peers/harness.py --parts=starts --rounds=7 --cases=100,1000,10000
    python benchmarks/peers/harness.py --parts=sweep --pytest=--ngraph-budget=2

`starts` runs pytest in fresh processes, alternately plain, with pytest-benchmark alone, and with pytest-ngraph. `sweep`
measures the study's five small models under six compilers at two batch sizes, 60 cases, in two sessions: the second
takes from the cache what the first compiled.
"""

from __future__ import annotations

from comparing import page, starts, sweep

PARTS = {"starts": starts.find, "sweep": sweep.find}


def main() -> None:
    parser = page.parser(__doc__, list(PARTS))
    parser.add_argument("--rounds", type=int, default=7, help="starts: rounds; six or more give an interval")
    parser.add_argument(
        "--cases", type=page.numbers, default=[100, 1000, 10_000], help="starts: cases to collect, multiples of 20"
    )
    parser.add_argument("--tests", type=page.listed, default=sweep.TESTS, help="sweep: tests to run")
    parser.add_argument("--compilers", default=sweep.COMPILERS, help="sweep: compilers")
    parser.add_argument("--batch-sizes", type=page.numbers, default=[1, 8], help="sweep: batch sizes")
    parser.add_argument("--pytest", action="append", default=[], metavar="OPTION", help="sweep: further pytest option")
    parsed = parser.parse_args()
    for part in parsed.parts:
        page.put(part, PARTS[part](parsed), write=parsed.write)


if __name__ == "__main__":
    main()
