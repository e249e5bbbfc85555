"""A design placed inside another Amaranth design."""

from pathlib import Path

from amaranth import Module
from amaranth.back import rtlil  # type: ignore[attr-defined]
from amaranth.lib import wiring

from carrysave import Design
from hw.emit import yosys
from hw.emit.instance import DesignInstance


class Platform:
    """Collects files, as Amaranth's platforms do."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def add_file(self, name: str, text: str) -> None:
        self.files[name] = text


class Parent(wiring.Component):
    """An element alone inside a design."""

    def __init__(self, block: DesignInstance):
        self.block = block
        super().__init__(block.signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = self.block
        wiring.connect(m, wiring.flipped(self), self.block)
        return m


def test_block_connects_every_port_of_the_verilog(tmp_path: Path) -> None:
    design = Design("systolic_os", m=2, n=2)
    platform = Platform()
    parent = Parent(design.as_component())
    (tmp_path / "parent.il").write_text(rtlil.convert(parent, platform=platform, emit_src=False))
    assert list(platform.files) == [f"{design.module}.v"]
    (tmp_path / "block.v").write_text(platform.files[f"{design.module}.v"])
    # -check fails on a missing module, a missing port or a width that differs.
    yosys.run(
        "read_verilog block.v\nread_rtlil parent.il\nhierarchy -check -top top\ncheck -assert",
        cwd=tmp_path,
    )
    text = (tmp_path / "parent.il").read_text()
    for port in ("i_a_valid", "i_a_ready", "i_a_data", "i_a_last", "i_b_data", "o_c_last", "rst"):
        assert f"connect \\{port} " in text
