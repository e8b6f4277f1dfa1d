# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rackwright import catalog
from rackwright.catalog import locate as place
from rackwright.domain.errors import CatalogInvalid, DriverNotFound, InvalidDriver
from rackwright.domain.verbs import Interface, Phase

GALAXY = "namespace: rackwright\nname: metal\nversion: 0.1.0\n"
EVERY = "".join(f"  {kind}: [plain]\n" for kind in Interface)
PLAIN = "implements:\n" + "".join(f"  - {{interface: {kind}, name: plain}}\n" for kind in Interface)
POWER = """
implements:
  - {interface: power, name: best, protocol: redfish, properties: {best_key: {description: Of this one only.}}}
properties:
  best_address: {description: Where it is., required: true}
steps:
  - {name: set_power, phase: power, interface: power, args: {target: power_target}, batched: true}
  - {name: read_power, phase: verify, interface: power, priority: 100, tasks: act}
"""
SPECS = """
argument_specs:
  set_power:
    options:
      power_target: {type: str, required: true, description: [The state, to reach.]}
  act: {options: {}}
"""


class Shelf:
    """Collections on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("galaxy.yml", GALAXY)
        self.write("meta/hardware_types/box.yml", f"name: box\ninterfaces:\n{EVERY}")
        self.role("plain", PLAIN)

    def write(self, name: str, text: str, collection: str = "rackwright/metal") -> Path:
        path = self.root / "ansible_collections" / collection / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def role(self, name: str, steps: str, *, tasks: tuple[str, ...] = (), specs: str = "", **more: str) -> None:
        self.write(f"roles/{name}/meta/steps.yml", steps, **more)
        for task in tasks:
            self.write(f"roles/{name}/tasks/{task}.yml", "[]", **more)
        if specs:
            self.write(f"roles/{name}/meta/argument_specs.yml", specs, **more)

    def power(self) -> None:
        self.role("power", POWER, tasks=("set_power", "act"), specs=SPECS)
        types = EVERY.replace("power: [plain]", "power: [missing, best, plain]")
        self.write("meta/hardware_types/box.yml", f"name: box\ninterfaces:\n{types}")

    def load(self, *enabled: str, further: tuple[str, ...] = ()) -> catalog.Catalog:
        return catalog.load(enabled=enabled or ("box",), root=self.root, step_collections=further)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_steps_come_with_their_role_and_the_description_of_their_arguments(shelf: Shelf) -> None:
    shelf.power()
    found = shelf.load().implementation("power", "best")
    assert [(step.name, step.role, step.tasks) for step in found.steps] == [
        ("set_power", "rackwright.metal.power", "set_power"),
        ("read_power", "rackwright.metal.power", "act"),
    ]
    argument = found.steps[0].argsinfo["target"]
    assert (argument.description, argument.required) == ("The state to reach.", True)
    assert found.steps[0].variables == {"target": "power_target"}
    assert (found.protocol, sorted(found.properties)) == ("redfish", ["best_address", "best_key"])


def test_keys_that_roles_declare_as_secret_are_known(shelf: Shelf) -> None:
    shelf.power()
    shelf.role(
        "power", POWER.replace("Of this one only.", "A pin., secret: true"), tasks=("set_power", "act"), specs=SPECS
    )
    assert shelf.load().secrets == {"best_key"}


def test_the_first_implementation_that_a_role_offers_is_the_default(shelf: Shelf) -> None:
    shelf.power()
    offer = shelf.load()
    assert offer.hardware_types["box"].interfaces[Interface.POWER] == ("best", "plain")
    assert offer.default_interfaces("box")[Interface.POWER] == "best"
    assert offer.default_interfaces("box")[Interface.BIOS] == "plain"


def test_an_implementation_may_be_spread_over_roles(shelf: Shelf) -> None:
    shelf.power()
    more = "implements: [{interface: power, name: best}]\nsteps: [{name: cut, phase: undeploy, interface: power}]\n"
    shelf.role("more_power", more, tasks=("cut",))
    offer = shelf.load()
    assert {step.role for step in offer.implementation("power", "best").steps} == {
        "rackwright.metal.power",
        "rackwright.metal.more_power",
    }
    chosen = {Interface.POWER: "best"}
    assert [step.name for step in offer.offered(chosen, Phase.UNDEPLOY)] == ["cut"]


def test_other_collections_bring_roles_and_hardware_types(shelf: Shelf) -> None:
    own: dict[str, Any] = {"collection": "acme/boxes"}
    shelf.write("galaxy.yml", "version: 2.0.0\n", **own)
    shelf.role("acme_power", "implements: [{interface: power, name: acme}]\n", **own)
    types = EVERY.replace("power: [plain]", "power: [acme]")
    shelf.write("meta/hardware_types/acme.yml", f"name: acme\ninterfaces:\n{types}", **own)
    offer = shelf.load("acme", further=("acme.boxes",))
    assert list(offer.hardware_types) == ["acme"]
    assert [(each.name, each.version) for each in offer.collections] == [
        ("rackwright.metal", "0.1.0"),
        ("acme.boxes", "2.0.0"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("roles/power/meta/steps.yml", "steps: [", "cannot be read"),
        ("roles/power/meta/steps.yml", "steps: [{name: x}]", "phase"),
        ("roles/power/meta/steps.yml", "stepz: []", "stepz"),
        ("roles/power/meta/steps.yml", POWER.replace("power, name: best", "bios, name: best"), "does not implement"),
        ("roles/power/meta/steps.yml", POWER.replace("set_power", "no_file"), "power_target"),
        ("roles/power/meta/steps.yml", POWER.replace("tasks: act", "tasks: none"), "tasks/none.yml"),
        ("roles/power/meta/argument_specs.yml", "argument_specs: {}", "power_target"),
        ("roles/power/meta/argument_specs.yml", "argument_specs: 5", "argument_specs"),
        ("meta/hardware_types/box.yml", "name: box", "interfaces"),
        ("meta/hardware_types/box.yml", f"name: box\ninterfaces:\n{EVERY}  power: [no-such]\n", "power"),
        ("meta/hardware_types/second.yml", f"name: box\ninterfaces:\n{EVERY}", "already declared"),
        ("galaxy.yml", "name: metal", "version"),
    ],
)
def test_what_is_declared_wrongly_is_told_with_its_file(shelf: Shelf, name: str, text: str, reason: str) -> None:
    shelf.power()
    path = shelf.write(name, text)
    with pytest.raises(CatalogInvalid) as caught:
        shelf.load()
    assert str(path) in str(caught.value) or str(path.parents[3 if "roles" in name else 0]) in str(caught.value)
    assert reason in str(caught.value)


def test_a_hardware_type_that_nobody_declares_is_told_with_those_that_are(shelf: Shelf) -> None:
    with pytest.raises(CatalogInvalid, match=r"names crate.*Declared: box"):
        shelf.load("crate")


def test_what_is_not_enabled_or_not_offered_is_not_found(shelf: Shelf) -> None:
    offer = shelf.load()
    with pytest.raises(DriverNotFound):
        offer.default_interfaces("crate")
    for kind, name in (("power", "none"), ("nonsense", "plain")):
        with pytest.raises(InvalidDriver):
            offer.implementation(kind, name)


def test_a_collection_of_another_version_is_refused(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "__version__", "9.9.9")
    with pytest.raises(CatalogInvalid, match=r"version 9\.9\.9.*version 0\.1\.0"):
        shelf.load()


def test_a_missing_collection_is_told_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(CatalogInvalid, match="collection_root"):
        catalog.load(enabled=("box",), root=tmp_path)


def test_an_installed_collection_tells_its_version_in_its_manifest(shelf: Shelf) -> None:
    shelf.write("MANIFEST.json", '{"collection_info": {"version": "0.1.0"}}')
    shelf.write("galaxy.yml", "")
    assert shelf.load().collections[0].version == "0.1.0"


def test_our_own_collection_is_found_and_declared_rightly() -> None:
    offer = catalog.load(enabled=("fake-hardware", "redfish"))
    assert set(offer.hardware_types) == {"fake-hardware", "redfish"}
    assert offer.implementation("power", "redfish").protocol == "redfish"
    assert not offer.implementation("bios", "no-bios").supported
