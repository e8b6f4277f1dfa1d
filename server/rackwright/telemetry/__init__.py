# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What every layer tells operators: whom a log line is about (``facts``), what is counted and timed (``numbers``)."""
