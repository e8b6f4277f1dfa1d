# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Give an empty virtual environment its pip, out of the Python that made it.

ansible-test downloads such a script from a host of its own, unless one lies in its cache. Ours lies there instead
(`nox -s sanity`), so that the checks need no host but the package index.
"""

import ensurepip
import subprocess
import sys

ensurepip.bootstrap()
packages = [argument for argument in sys.argv[1:] if not argument.startswith("--no-")]
sys.exit(subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *packages], check=False).returncode)
