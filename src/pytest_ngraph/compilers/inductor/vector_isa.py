"""Keep which of the processor's vector instructions Inductor can use from one session to the next.

Before its first model, Inductor compiles and loads a program for each set of them. It leaves these in its cache, which
here is another one for each model. A file's name is a digest of the program, PyTorch's version, the compiler and its
options, so that a kept one fits or is not found.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from pytest_ngraph.compilers.inductor.caching import caching_in, keeping

KEPT = "inductor-vector-isa"
LOADED = ".load_ok"
"""The end of the name of the file by which Inductor notes that a program has been loaded. Older versions note nothing,
so that nothing is kept of them."""


@cache
def find_out() -> None:
    """Have Inductor find out, by the programs that are kept, what it remembers for the life of the process."""
    from torch._inductor import cpu_vec_isa

    find = getattr(cpu_vec_isa, "valid_vec_isa_list", None)  # PyTorch may rename it: it is not public
    if find is None:
        return
    with tempfile.TemporaryDirectory(prefix="ngraph-vector-isa-") as scratch:
        folder = Path(scratch)
        with caching_in(folder), keeping(KEPT, folder, _loaded):
            find()


def _loaded(folder: Path) -> list[Path]:
    """Return the programs in a folder that have been loaded, and then the notes that say so."""
    notes = sorted(folder.rglob(f"*{LOADED}"))
    return [*(note.with_name(note.name.removesuffix(LOADED)) for note in notes), *notes]
