"""How costs grow: of a session with the number of cases, and of the work on records with the number of records.

    python benchmarks/peers/scale.py [--write]
    python benchmarks/peers/scale.py --parts=cases --cases=10,100,1000,10000
    python benchmarks/peers/scale.py --parts=records --most-stored=1000000

`cases` runs sessions whose compiler is a fake that is measured in no time, so that the seconds of a case are those
beyond measuring, and sessions of pytest-benchmark with as many tests. `records` makes synthetic stores, and works on
each in a fresh process. A slope of 1 in logarithms means in proportion, a slope of 2 with the square.
"""

from __future__ import annotations

from pathlib import Path

from comparing import page, records, sessions

PARTS = {"cases": sessions.find, "records": records.find}


def main() -> None:
    parser = page.parser(__doc__, list(PARTS))
    parser.add_argument(
        "--cases", type=page.numbers, default=[10, 100, 1000, 10_000], help="numbers of cases, in rising order"
    )
    parser.add_argument(
        "--records",
        type=page.numbers,
        default=[1000, 10_000, 100_000, 1_000_000],
        help="numbers of records, in rising order",
    )
    parser.add_argument(
        "--most-stored", type=int, default=100_000, help="most records of a store; the work `metrics` needs no store"
    )
    parser.add_argument("--stores", type=Path, help="folder in which the stores are kept, for further calls")
    parser.add_argument("--rounds", type=int, default=30, help="rounds of each record")
    parser.add_argument("--works", type=page.listed, default=list(records.WORKS), help="works to do; default: all")
    parsed = parser.parse_args()
    for part in parsed.parts:
        page.put(part, PARTS[part](parsed), write=parsed.write)


if __name__ == "__main__":
    main()
