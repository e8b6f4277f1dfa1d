# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Give an empty virtual environment the pip that came with its Python.

ansible-test downloads such a script from a host of its own, unless one lies in its cache. Ours lies there instead
(`nox -s sanity`), so that the checks need no host but the package index.
"""

import ensurepip

ensurepip.bootstrap()
