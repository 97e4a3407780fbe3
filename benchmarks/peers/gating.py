"""What a gated pull request costs: the wall time of our gate, and of asv, on the same repository and machine.

    python benchmarks/peers/gating.py [--write] [--networks=12] [--changed=2]

A repository has networks of 1 to 3 ms a call, under TorchScript. The head changed the weights of some of them. Our gate
measures these. asv does not know what a change concerns, and runs all of its benchmarks at both revisions.
"""

from __future__ import annotations

from comparing import page, pull_request

PARTS = {"pull request": pull_request.find}


def main() -> None:
    parser = page.parser(__doc__, list(PARTS))
    parser.add_argument("--networks", type=int, default=12, help="networks of the repository")
    parser.add_argument("--changed", type=int, default=2, help="how many of them the head changed")
    parsed = parser.parse_args()
    for part in parsed.parts:
        page.put(part, PARTS[part](parsed), write=parsed.write)


if __name__ == "__main__":
    main()
