"""Is the number true? Our throughput beside each library's own tool, and how far repeated sessions differ by tool.

    python benchmarks/peers/truth.py [--write]
    python benchmarks/peers/truth.py --parts=parity --objective=throughput
    python benchmarks/peers/truth.py --parts=spread --sessions=10 --spread-seconds=5

`parity` takes the ratio pair by pair: 1 means equal, more means that we report more. `spread` has pytest-ngraph,
pytest-benchmark, torch.utils.benchmark and optimum-benchmark measure the same models in eager PyTorch, for the same
seconds in each session, session by session in turn. optimum-benchmark is installed in an environment of its own.
"""

from __future__ import annotations

from comparing import page, parity, spread

PARTS = {"parity": parity.find, "spread": spread.find}
MODELS = ["resnet18", "deit3_small_patch16_224", "swin_s3_tiny_224"]


def main() -> None:
    parser = page.parser(__doc__, list(PARTS))
    parser.add_argument("--models", type=page.listed, default=MODELS, help="timm's, for optimum-benchmark")
    parser.add_argument("--batch-sizes", type=page.numbers, default=[1, 8], help="spread takes the first")
    parser.add_argument("--compilers", type=page.listed, help="of parity; default: all with a peer for the objective")
    parser.add_argument("--objective", choices=parity.COMPILERS, default="latency", help="of parity")
    parser.add_argument("--pairs", type=int, default=7, help="of parity; from six on there is an interval")
    parser.add_argument("--pair-seconds", type=float, default=1.5, help="of each half of a pair of parity")
    parser.add_argument("--arms", help="of spread: those with this in their name; default: all")
    parser.add_argument("--sessions", type=int, default=10, help="of spread")
    parser.add_argument("--spread-seconds", type=float, default=5, help="of measuring, in each session")
    parser.add_argument("--unbound", action="store_true", help="leave the others' threads and memory as they come")
    parsed = parser.parse_args()
    with_peers = parity.COMPILERS[parsed.objective]
    if not set(parsed.compilers or ()) <= set(with_peers):
        parser.error(f"--compilers: those with a peer for {parsed.objective} are {', '.join(with_peers)}")
    for part in parsed.parts:
        section = f"{part} {parsed.objective}" if part == "parity" else part
        page.put(section, PARTS[part](parsed), write=parsed.write)


if __name__ == "__main__":
    main()
