"""`restante maintain`: the maintenance as a process of its own, any number of them."""

from __future__ import annotations

import os
from collections.abc import Mapping

from config import Settings, SettingsRefused
from workers.log_lines import write_lines
from workers.run_folder import RunFolderRefused, metrics_folder, run_folder


def run_maintenance(settings: Settings, *, once: bool) -> Mapping[str, Mapping[str, int]]:
    """Maintain until a signal, or one pass of everything; returns what that did, by service."""
    try:
        folder = run_folder(settings.database_url)
    except RunFolderRefused as error:
        raise SettingsRefused([str(error)]) from None
    write_lines(settings)
    # its figures are shown by the web processes of this host; the library looks when it is imported
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(metrics_folder(folder))
    from workers.maintainer import maintain  # noqa: PLC0415 - see above

    return maintain(settings, folder, once=once)
