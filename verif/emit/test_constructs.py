"""What Yosys changes in a source is kept, said or refused; none of it passes in silence."""

from pathlib import Path

import pytest

from hw.emit import tools
from hw.emit.constructs import CONSTRUCTS
from hw.emit.sources import Renamed, SourceError, Sources
from verif.support.command import Run

BODY = "always @(posedge clk) q <= d[0];"
CASES: dict[str, list[tuple[str, int]]] = {
    "high impedance": [
        ("assign pad = e ? d[0] : 1'bz; always @(posedge clk) q <= pad;", 2),
        ("reg t; always @* if (e) t = d[0]; else t = 1'bz; assign pad = t;\n" + BODY, 2),
        ("bufif1 (pad, d[0], e); " + BODY, 2), ("assign pad = 1'bz; " + BODY, 1),
        ("assign w = 4'bzz00; " + BODY, 1),
    ],
    "several drivers": [("assign w[0] = d[0]; assign w[0] = d[1]; " + BODY, 0)],
    "latch": [("reg l; always @* if (e) l = d[0];\nassign w[0] = l; " + BODY, 2)],
    "initial value": [("initial q = 1;\n" + BODY, 1)],
    "$display": [('always @(posedge clk) begin q <= d[0]; $display("%d", d); end', 2)],
    "simulation task": [("initial $dumpvars;\n" + BODY + "", 2)],
    "delay": [("assign #5 w = d; " + BODY, 2), ("always @(posedge clk) q <= #1 d[0];", 2),
              ("assign #(2, 3) w = d; " + BODY, 2)],
    "specify": [("specify (d => w) = 1; endspecify\n" + BODY, 2)],
    "casex": [("reg r; always @* casex (d) 4'b1xxx: r = e; default: r = 0; endcase\n" + BODY, 2)],
    "casez": [("reg r; always @* casez (d) 4'b1???: r = e; default: r = 0; endcase\n" + BODY, 2)],
    "full_case": [("reg r; always @* case (d) // synopsys full_case\n0: r = e; 1: r = 0; endcase\n"
                   + BODY, 2),
                  ("reg r; always @* (* full_case *) case (d) 0: r = e; 1: r = 0; endcase\n"
                   + BODY, 2)],
    "translate_off": [("// synopsys translate_off\nassign w = d;\n// synopsys translate_on\n"
                       + BODY, 2)],
    "implicit net": [("assign more = d[0]; always @(posedge clk) q <= more;", 2)],
    "width of a port": [("sub s (.a(d)); " + BODY, 0)],
    "no driver": [("wire n; always @(posedge clk) q <= n;", 0)],
    "other warning": [("assign w = d[7:4]; " + BODY, 2)],
    "defparam": [("sub s (.a(d[0])); defparam s.N = 2; " + BODY, 0)],
    "$readmemh": [("reg [3:0] m [0:3]; initial $readmemh(\"m.hex\", m); assign w = m[d[1:0]];\n"
                   + BODY, 0)],
    "generate": [("genvar i; generate for (i = 0; i < 4; i = i + 1) begin : g\n"
                  "assign w[i] = d[3 - i]; end endgenerate " + BODY, 0)],
    "set and reset": [("always @(posedge clk, posedge e, posedge d[1]) if (e) q <= 0;\n"
                       "else if (d[1]) q <= 1; else q <= d[0];", 0)],
    "don't-care": [("assign w = e ? d : 4'bx; " + BODY, 0)],
}  # fmt: skip
"""Bodies of a module, and the line of it that is named; 0: none, but a name."""


def read(folder: Path, body: str, parameters: dict[str, str] | None = None) -> Renamed:
    text = (
        "module top #(parameter N = 1) (input clk, input e, input [3:0] d, inout pad,"
        f" output reg q, output [3:0] w);\n{body}\nendmodule\n"
        "module sub #(parameter N = 1) (input [N-1:0] a); endmodule\n"
    )
    (folder / "mine.v").write_text(text)
    (folder / "m.hex").write_text("1\n2\n3\n4\n")
    with tools.workplace() as work:
        return Sources.read([folder / "mine.v"], parameters or {}).design("top", work, "memory")


@pytest.mark.sample(11)
@pytest.mark.parametrize(
    ("construct", "body", "line"),
    [(name, *case) for name, cases in CASES.items() for case in cases],
)
def test_nothing_changes_in_silence(construct: str, body: str, line: int, tmp_path: Path) -> None:
    facts = CONSTRUCTS[construct]
    if facts.fate == "refused":
        with pytest.raises(SourceError) as error:
            read(tmp_path, body)
        assert facts.says in str(error.value)
        assert not line or f"{tmp_path / 'mine.v'}:{line}: " in str(error.value)
        return
    found = [one for one in read(tmp_path, body).findings if one.construct == construct]
    if facts.fate == "kept":
        assert found == []
        return
    assert found, construct
    assert not line or found[0].where.startswith(f"{tmp_path / 'mine.v'}:{line}")
    assert str(found[0]).endswith(facts.says or found[0].text)


def test_every_construct_is_tried() -> None:
    assert CASES.keys() == CONSTRUCTS.keys()
    counts = [facts.fate for facts in CONSTRUCTS.values()]
    print(
        f"constructs: {len(CONSTRUCTS)} kinds; "
        + ", ".join(f"{fate} {counts.count(fate)}" for fate in ("kept", "said", "refused"))
    )


def test_comments_and_strings_are_no_code(tmp_path: Path) -> None:
    body = "// assign #5 w = 1'bz; casex $finish specify\n/* #3 casez */\n" + BODY
    said = {one.construct for one in read(tmp_path, body).findings}
    assert said <= {"no driver"}


def test_parameters_of_the_top(tmp_path: Path) -> None:
    body = "generate if (N == 5) assign pad = 1'bz; endgenerate " + BODY
    read(tmp_path, body, {"N": "4"})
    for value in ("5", "8'd5", "4'b0101"):
        with pytest.raises(SourceError, match="high impedance"):
            read(tmp_path, body, {"N": value})
    with pytest.raises(SourceError, match="M"):
        read(tmp_path, BODY, {"M": "1"})
    for wrong in ("", "x", "1'bx", "1; shell", '"a'):
        with pytest.raises(ValueError, match="parameters of the top must be NAME=NUMBER"):
            read(tmp_path, BODY, {"N": wrong})


def test_front_ends_limit_names_others(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"mine\.v:2: ERROR: syntax error.*sv2v.*slang"):
        read(tmp_path, "real r; " + BODY)


def test_synth_says_and_refuses(run: Run, tmp_path: Path) -> None:
    (tmp_path / "z.v").write_text(
        "module top(input clk, input oe, input d, inout pad, output reg q);\n"
        "assign pad = oe ? d : 1'bz;\nalways @(posedge clk) q <= pad;\nendmodule\n"
    )
    for target in ("generic", "ecp5"):
        found = run("synth", "--verilog", "z.v", "--top", "top", "--target", target)
        assert (found.code, found.out) == (2, "")
        assert "ERROR: z.v:2: high impedance (z) has no cell here" in found.err
    (tmp_path / "w.v").write_text(
        "module top #(parameter W = 2) (input clk, input [W-1:0] d, output reg [W-1:0] q);\n"
        "initial q = 0;\nalways @(posedge clk) q <= #1 d;\nendmodule\n"
    )
    ask = ("synth", "--verilog", "w.v", "--top", "top", "--json", "-P", "W=5")
    said = run(*ask, "--target", "generic").out
    assert "w.v:3: delays are left out" in said
    assert "initial values are left out" in said
    said = run(*ask, "--target", "xilinx7").out
    assert '"ffs": 5' in said
    assert "w.v:3: delays are left out" in said
    assert "initial values" not in said
    found = run(*ask[:-1], "V=5", "--target", "generic")
    assert (found.code, found.out) == (2, "")
