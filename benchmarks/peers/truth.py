"""Is the number right? Our throughput beside each library's own tool, and how far repeated sessions differ by tool.

    python benchmarks/peers/truth.py [--write]
    python benchmarks/peers/truth.py --parts=parity --objective=throughput
    python benchmarks/peers/truth.py --parts=spread --sessions=10 --spread-seconds=5

`parity` takes the ratio pair by pair: 1 means equal, more means that we report more. `spread` lets pytest-ngraph,
pytest-benchmark, torch.utils.benchmark and optimum-benchmark measure the same models in eager PyTorch, for the same
seconds in each session. Their sessions alternate. optimum-benchmark is installed in an environment of its own.
"""

from __future__ import annotations

from comparing import page, parity, spread

PARTS = {"parity": parity.find, "spread": spread.find}
MODELS = ["resnet18", "deit3_small_patch16_224", "swin_s3_tiny_224"]


def main() -> None:
    parser = page.parser(__doc__, list(PARTS))
    parser.add_argument("--models", type=page.listed, default=MODELS, help="models of timm, for optimum-benchmark")
    parser.add_argument("--batch-sizes", type=page.numbers, default=[1, 8], help="batch sizes; spread takes the first")
    parser.add_argument(
        "--compilers", type=page.listed, help="parity: compilers; default: all with a peer for the objective"
    )
    parser.add_argument("--objective", choices=parity.COMPILERS, default="latency", help="parity: objective")
    parser.add_argument("--pairs", type=int, default=7, help="parity: pairs; six or more give an interval")
    parser.add_argument("--pair-seconds", type=float, default=1.5, help="parity: seconds of each half of a pair")
    parser.add_argument("--arms", help="spread: only tools with this text in their name; default: all")
    parser.add_argument("--sessions", type=int, default=10, help="spread: number of sessions")
    parser.add_argument("--spread-seconds", type=float, default=5, help="spread: seconds of measuring per session")
    parser.add_argument("--unbound", action="store_true", help="leave the others' threads and memory at their defaults")
    parsed = parser.parse_args()
    with_peers = parity.COMPILERS[parsed.objective]
    if without := sorted(set(parsed.compilers or ()) - set(with_peers)):
        parser.error(
            f"--compilers: {', '.join(without)} has no peer for {parsed.objective}. Allowed: {', '.join(with_peers)}."
        )
    for part in parsed.parts:
        section = f"{part} {parsed.objective}" if part == "parity" else part
        page.put(section, PARTS[part](parsed), write=parsed.write)


if __name__ == "__main__":
    main()
