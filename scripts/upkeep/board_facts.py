"""Write what kept board definitions say of boards into constraints/boards.json.

.venv/bin/python scripts/upkeep/board_facts.py [--check]

Pins, clocks and parts are those of amaranth-boards or litex-boards: none is typed by hand.
"""

import argparse
import importlib
import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from amaranth.vendor import LatticeECP5Platform
from litex.build.generic_platform import IOStandard, Misc, Pins, Subsignal

from carrysave import cache

FILE = Path(__file__).parents[2] / "constraints" / "boards.json"

AMARANTH = {
    "ulx3s_12f": "ulx3s.ULX3S_12F_Platform",
    "ulx3s_25f": "ulx3s.ULX3S_25F_Platform",
    "ulx3s_45f": "ulx3s.ULX3S_45F_Platform",
    "ulx3s_85f": "ulx3s.ULX3S_85F_Platform",
    "orangecrab_25f": "orangecrab_r0_2.OrangeCrabR0_2_25FPlatform",
    "orangecrab_85f": "orangecrab_r0_2.OrangeCrabR0_2_85FPlatform",
    "ecpix5_45f": "ecpix5.ECPIX545Platform",
    "ecpix5_85f": "ecpix5.ECPIX585Platform",
    "icebreaker": "icebreaker.ICEBreakerPlatform",
    "ice40_hx8k_b_evn": "ice40_hx8k_b_evn.ICE40HX8KBEVNPlatform",
    "tang_nano_9k": "tang_nano_9k.TangNano9kPlatform",
    "arty_a7_35t": "arty_a7.ArtyA7_35Platform",
    "arty_a7_100t": "arty_a7.ArtyA7_100Platform",
}
"""Board -> class of amaranth_boards."""

LITEX: dict[str, tuple[str, dict[str, Any]]] = {
    "colorlight_i5": ("colorlight_i5", {"board": "i5"}),
    "colorlight_i9": ("colorlight_i5", {"board": "i9", "revision": "7.2"}),
    "tang_nano_20k": ("sipeed_tang_nano_20k", {}),
    "pynq_z2": ("tul_pynq_z2", {}),
    "kv260": ("xilinx_kv260", {}),
}
"""Board -> module of litex_boards.platforms, and arguments of its Platform."""

SERIAL = {name: ("gsd_orangecrab", {"revision": "0.2"}) for name in AMARANTH if "crab" in name}
"""Boards of amaranth-boards without a serial line, that LiteX has on pins of their edge."""

PROCESSOR = ("pynq_z2", "kv260")
"""Boards whose processor is the host: no pin is used."""

LIGHTS = ("user_led", "user_led_n", "led_n")
"""Names of a light on LiteX's boards; with _n it shines at 0."""

FLASH = ("flash_cs_n", "flash_mosi", "flash_miso")
"""Ports to the SPI flash; its clock is no pin on ECP5."""

Facts = dict[str, Any]


def of_amaranth(path: str) -> Facts:
    """Describe a board of amaranth-boards."""
    module, name = path.split(".")
    platform = getattr(importlib.import_module(f"amaranth_boards.{module}"), name)()

    def pin(resource: Any, signal: str = "") -> Facts:
        chosen = next(part for part in resource.ios if part.name == signal) if signal else resource
        attributes = {**resource.attrs, **chosen.attrs}
        (site,) = chosen.ios[0].names
        return {"site": site, "inverted": bool(chosen.ios[0].invert), "attributes": attributes}

    resources = platform.resources
    clock = resources[platform.default_clk, 0]
    light = ("led", "") if ("led", 0) in resources else ("rgb_led", "r")
    pins = {"clk": pin(clock), "busy": pin(resources[light[0], 0], light[1])}
    if ("uart", 0) in resources:
        pins |= {signal: pin(resources["uart", 0], signal) for signal in ("rx", "tx")}
    name = next((one for one in ("spi_flash", "spi_flash_1x") if (one, 0) in resources), "")
    parts = ("cs", "copi", "cipo") if name and not path.startswith("arty") else ()
    wires = {wire: pin(resources[name, 0], part) for wire, part in zip(FLASH, parts, strict=False)}
    return {
        "source": f"amaranth-boards {version('amaranth-boards')}: {path}",
        "part": getattr(platform, "part", "") or _part(platform),
        "clock_hz": clock.clock.frequency,
        "pins": pins,
        "flash": wires,
    }


def _part(platform: Any) -> str:
    """Name a part as its maker does."""
    device, package = platform.device, platform.package
    if isinstance(platform, LatticeECP5Platform):
        return f"{device}-{platform.speed}{package}{platform.grade}"
    if device.startswith("xc"):
        return f"{device}{package}-{platform.speed}"
    return f"{device}-{package}"


def of_litex(module: str, arguments: Facts) -> Facts:
    """Describe a board of litex-boards."""
    library = importlib.import_module(f"litex_boards.platforms.{module}")
    platform = library.Platform(**arguments)
    manager = platform.constraint_manager
    rows = [*manager.available, *getattr(library, "feather_serial", ())]
    resources = {row[0]: row[2:] for row in rows if row[1] == 0}

    def pin(items: Iterable[Any], signal: str = "", inverted: bool = False) -> Facts:
        items = list(items)
        for item in [item for item in items if isinstance(item, Subsignal)]:
            items += item.constraints if item.name == signal else ()
        (places,) = (item for item in items if isinstance(item, Pins))
        (site,) = manager.connector_manager.resolve_identifiers(places.identifiers)
        attributes = {}
        for item in items:
            if isinstance(item, IOStandard):
                attributes["IO_TYPE"] = item.name
            elif isinstance(item, Misc):
                attributes |= [item.misc.split("=")]
        return {"site": site, "inverted": inverted, "attributes": attributes}

    pins = {"clk": pin(resources[platform.default_clk_name])}
    if "serial" in resources:
        pins |= {signal: pin(resources["serial"], signal) for signal in ("rx", "tx")}
    for name in LIGHTS:
        if name in resources:
            pins["busy"] = pin(resources[name], inverted=name.endswith("_n"))
            break
    wires = {}
    if "spiflash" in resources:
        parts = zip(FLASH, ("cs_n", "mosi", "miso"), strict=True)
        wires = {wire: pin(resources["spiflash"], part) for wire, part in parts}
    options = "".join(f", {key}={value}" for key, value in arguments.items())
    return {
        "source": f"litex-boards {version('litex-boards')}: {module}{options}",
        "part": platform.device,
        "clock_hz": round(1e9 / platform.default_clk_period, 3),
        "pins": pins,
        "flash": wires,
    }


def boards() -> dict[str, Facts]:
    """Describe all boards."""
    facts = {name: of_amaranth(path) for name, path in AMARANTH.items()}
    for name, where in SERIAL.items():
        lines = of_litex(*where)
        facts[name]["source"] += f"; serial line: {lines['source']}"
        facts[name]["pins"] |= {signal: lines["pins"][signal] for signal in ("rx", "tx")}
    facts |= {name: of_litex(*where) for name, where in LITEX.items()}
    for name in PROCESSOR:
        facts[name]["pins"] = {}
    return facts


def main() -> None:
    """Write the file, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if the file says otherwise")
    text = json.dumps(boards(), indent=2) + "\n"
    if not parser.parse_args().check:
        cache.write(FILE, text)
    elif FILE.read_text() != text:
        raise SystemExit(f"{FILE} is not what the definitions say: run {Path(__file__).name}")


if __name__ == "__main__":
    main()
