# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Numbers outlive the processes that note them, and have few faces whatever machines say."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from rackwright.telemetry.book import Kept

# Each process that keeps numbers is a real one: the library knows one set of files for the life of a process.
KEEP = """
import os, sys, time
from pathlib import Path
from rackwright.telemetry import book, numbers
numbers.keep_in(Path(sys.argv[1]), "conductor")
{then}
"""
COUNTED = 'numbers.POWER_LOOKS.note(verdict="nothing"); numbers.QUEUE_SECONDS.note(3.0, phase="deploy")'
KILLED = "os.kill(os.getpid(), 9)"


def process(folder: Path, *then: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", KEEP.format(then="\n".join(then)), str(folder)]
    return subprocess.run(words, check=False, capture_output=True, text=True)


def kept(folder: Path) -> dict[tuple[str, ...], float]:
    """Return each number by its name and the values of its labels."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Kept(folder))
    samples = [sample for family in registry.collect() for sample in family.samples]
    return {(each.name.removeprefix("rackwright_"), *map(str, each.labels.values())): each.value for each in samples}


def test_what_was_noted_before_a_kill_is_kept_and_the_next_process_goes_on(tmp_path: Path) -> None:
    for _ in range(3):
        done = process(tmp_path, COUNTED, KILLED)
        assert done.returncode == -signal.SIGKILL, done.stderr
    found = kept(tmp_path)
    assert found["power_looks_total", "nothing"] == 3
    assert found["queue_seconds_sum", "deploy"] == 9
    assert found["process_starts_total", "conductor"] == 3
    assert len(list(tmp_path.glob("*.db"))) == 2, "one file for each kind of number, however often a process dies"


def test_an_idle_process_does_without_the_library_and_its_start_counts(tmp_path: Path) -> None:
    done = process(tmp_path, "print('prometheus_client' in sys.modules)")
    assert done.stdout == "False\n", done.stderr
    assert kept(tmp_path) == {("process_starts_total", "conductor"): 1}


def test_processes_at_the_same_time_do_not_share_files_and_are_summed_up(tmp_path: Path) -> None:
    words = [sys.executable, "-c", KEEP.format(then=f"{COUNTED}; print('kept', flush=True); input()"), str(tmp_path)]
    both = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for each in both:
        assert each.stdout is not None and each.stdout.readline() == "kept\n"
    assert kept(tmp_path)["power_looks_total", "nothing"] == 2
    assert len(list(tmp_path.glob("*.db"))) == 4
    for each in both:
        each.communicate("\n")


def test_a_file_that_a_crash_of_the_machine_broke_is_begun_anew(tmp_path: Path) -> None:
    assert process(tmp_path, COUNTED).returncode == 0
    for file in tmp_path.glob("counter_*.db"):
        file.write_bytes(b"\xff" * 4096)
    done = process(tmp_path, COUNTED)
    assert done.returncode == 0, done.stderr
    assert kept(tmp_path)["power_looks_total", "nothing"] == 1


def test_a_folder_that_cannot_be_written_costs_the_numbers_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "metrics").write_text("in the way")
    done = process(tmp_path / "metrics", COUNTED, "print('works')")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "works\n"
    assert "Numbers are not kept" in done.stderr


MANY = """
for number in range(500):
    numbers.BMC_ERRORS.note(vendor="Acme", model=f"m{number}", kind="busy")
numbers.STEP_FAILURES.note(phase="clean", step="e\\x1b[2J" + "x" * 500)
numbers.STEP_FAILURES.note(phase="clean", step=" ")
"""


def test_what_machines_say_makes_few_labels_without_control_characters(tmp_path: Path) -> None:
    assert process(tmp_path, MANY).returncode == 0
    found = kept(tmp_path)
    models = {name[2]: value for name, value in found.items() if name[0] == "bmc_errors_total"}
    assert len(models) == 201
    assert models["other"] == 300
    assert {name[2] for name in found if name[0] == "step_failures_total"} == {("e[2J" + "x" * 500)[:64], "unknown"}


def test_a_conductor_elsewhere_tells_its_numbers_at_a_port_of_its_own(tmp_path: Path) -> None:
    serve = "book.serve(Path(sys.argv[1]), host='127.0.0.1', port=int(sys.argv[2]))"
    script = KEEP.format(then=f"{COUNTED}; {serve}; print('kept', flush=True); input()")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    words = [sys.executable, "-c", script, str(tmp_path), str(port)]
    told = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert told.stdout is not None and told.stdout.readline() == "kept\n"
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        families = {family.name for family in text_string_to_metric_families(answer.read().decode())}
    told.communicate("\n")
    assert {"rackwright_power_looks", "rackwright_queue_seconds", "rackwright_process_starts"} <= families


@pytest.mark.parametrize("amount", [-5.0, 0.0])
def test_a_clock_that_was_set_back_makes_no_negative_time(tmp_path: Path, amount: float) -> None:
    assert process(tmp_path, f"numbers.QUEUE_SECONDS.note({amount}, phase='deploy')").returncode == 0
    assert kept(tmp_path)["queue_seconds_sum", "deploy"] == 0
