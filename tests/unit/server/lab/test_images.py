# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Images that are whole, or not there."""

import subprocess
from importlib import resources
from pathlib import Path

import pytest

from rackwright_lab.images.build import IMAGES, is_current, publish

INPUTS: dict[str, object] = {"agent": "1"}


def write_images(folder: Path, text: str) -> Path:
    folder.mkdir()
    for name in IMAGES:
        (folder / name).write_text(f"{name} {text}")
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    publish(write_images(tmp_path / "work", "one"), folder, INPUTS)
    return folder


def test_published_images_match_their_checksums(out: Path) -> None:
    for name in ("CHECKSUMS", *(f"{image}.sha256" for image in IMAGES)):
        subprocess.run(["sha256sum", "--check", "--strict", "--quiet", name], cwd=out, check=True)


def test_images_are_current_for_the_inputs_they_are_made_of_alone(out: Path) -> None:
    assert is_current(out, INPUTS)
    assert not is_current(out, {"agent": "2"})


@pytest.mark.parametrize("name", [*IMAGES, "CHECKSUMS"])
def test_a_folder_that_lost_a_file_is_built_again(out: Path, name: str) -> None:
    (out / name).unlink()
    assert not is_current(out, INPUTS)


def test_images_whose_publication_was_cut_short_are_not_taken_for_whole(out: Path, tmp_path: Path) -> None:
    new = write_images(tmp_path / "new", "two")
    (out / IMAGES[-1]).unlink()
    (out / IMAGES[-1]).mkdir()  # so the last image cannot take its place
    with pytest.raises(IsADirectoryError):
        publish(new, out, {"agent": "2"})
    assert not is_current(out, INPUTS)
    assert not is_current(out, {"agent": "2"})


@pytest.mark.parametrize("name", ["common", "on-lease", "os", "poweroff", "ramdisk", "reboot"])
def test_a_script_of_the_small_systems_is_a_shell_script(name: str) -> None:
    script = Path(str(resources.files("rackwright_lab.images").joinpath("boot", name)))
    subprocess.run(["sh", "-n", script], check=True)
