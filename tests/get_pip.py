# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Put the pip that ansible-test asks for into one of its empty virtual environments.

ansible-test downloads such a script from a host of its own, unless one lies in its cache. Ours lies there instead
(`nox -s sanity`), so that the checks need no host but the package index.
"""

import subprocess
import sys

packages = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
subprocess.run(["uv", "pip", "install", "--quiet", "--system-certs", "--python", sys.executable, *packages], check=True)
