# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Serve what BMCs and agents fetch: boot media and images."""

from __future__ import annotations

from typing import Any

from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

CHUNK = 1 << 20
"""Bytes that are read at a time: an image is large, and each time costs a change of threads."""


class Files(StaticFiles):
    """Serves the files of a folder, which need not be there yet."""

    def file_response(self, *args: Any, **more: Any) -> Response:
        """Return the answer with a file."""
        answer = super().file_response(*args, **more)
        if isinstance(answer, FileResponse):
            answer.chunk_size = CHUNK
        return answer
