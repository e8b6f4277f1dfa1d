# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Run the `baremetal` command once for each line of standard input, in the client's own environment.

A line is a JSON list of arguments; the answer is a JSON object with ``status``, ``out`` and ``err``. Each command is a
process of its own, forked from this one, which has loaded the client: loading takes longer than most commands.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile

from ironicclient import shell


def run(arguments: list[str]) -> dict[str, object]:
    """Run one command and return how it went."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        pid = os.fork()
        if pid == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.argv = ["baremetal", *arguments]
            status = shell.main(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        for file in (out, err):
            file.seek(0)
        return {"status": status, "out": out.read(), "err": err.read()}


for line in sys.stdin:
    sys.stdout.write(json.dumps(run(json.loads(line))) + "\n")
    sys.stdout.flush()
