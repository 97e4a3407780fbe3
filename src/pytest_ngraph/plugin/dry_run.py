"""`--ngraph-dry-run`: what of the project would be sent to devices, without sending it."""

from __future__ import annotations

import pytest

from pytest_ngraph.errors import NgraphError
from pytest_ngraph.plugin.assembly import BASE, SESSION, written
from pytest_ngraph.plugin.options.reading import is_on


def listing(config: pytest.Config) -> int | None:
    """Print the files that would be sent, and return pytest's exit status; None unless that is asked for."""
    if not is_on(config, "dry_run"):
        return None
    config._do_configure()  # as pytest does for --markers
    chosen = config.stash[SESSION].options
    from pytest_ngraph.cluster import check_libraries

    try:
        check_libraries()
        from pytest_ngraph.against.from_revision import FromRevision
        from pytest_ngraph.cluster.client.travel import listed, listed_of_base

        send, base = chosen.cluster.send, config.stash[BASE]
        lines = listed(config.rootpath, written(chosen), send)
        if base is not None and isinstance(base.origin, FromRevision):
            with base.origin.files() as tree:
                lines += listed_of_base(base.name, tree, send)
    except NgraphError as error:
        raise pytest.UsageError(str(error)) from None
    print("\n".join(lines))
    return 0
