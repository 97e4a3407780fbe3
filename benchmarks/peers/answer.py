"""Time to an answer: how long each tool measures by its own rule, and how often its median is then within 1 %.

    python benchmarks/peers/answer.py [--write] [--models=resnet18,swin_s3_tiny_224] [--trials=10]

The rules: pytest-ngraph's (a pytest session with a precision target of 1 %), the study's 100 repetitions,
pytest-benchmark's default and `--benchmark-precision`, and `torch.utils.benchmark.Timer.adaptive_autorange` by default
and with a threshold of 1 %. Every trial is a session of its own. Between them, in a new random order each time, a plain
loop measures the same model for longer: the median of all its runs is the truth.
"""

from __future__ import annotations

from comparing import page, stopping

PARTS = {"answer": stopping.find}


def main() -> None:
    parser = page.parser(__doc__, list(PARTS))
    parser.add_argument("--models", type=page.listed, default=["resnet18", "swin_s3_tiny_224"])
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--arms", help="only rules with this text in their name; default: all")
    parser.add_argument("--trials", type=int, default=10, help="trials of each rule; six or more give an interval")
    parser.add_argument("--most-seconds", type=float, default=10, help="longest time to wait for a rule's precision")
    parser.add_argument("--truth-seconds", type=float, default=10, help="seconds of each of the long runs")
    parser.add_argument("--unbound", action="store_true", help="leave the others' threads and memory at their defaults")
    parsed = parser.parse_args()
    for part in parsed.parts:
        page.put(part, PARTS[part](parsed), write=parsed.write)


if __name__ == "__main__":
    main()
