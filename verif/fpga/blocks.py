"""Small designs with blocks of FPGAs in their Verilog, and what each family makes of them."""

__all__ = ["ECP5", "UP5K", "XC7"]

_BITS = ", ".join(f".{port}{bit} ({port.lower()}[{bit}])" for port in "AB" for bit in range(18))
_PRODUCT = ", ".join(f".P{bit} (p[{bit}])" for bit in range(36))

ECP5 = f"""
module element(input clk, input go, input signed [17:0] a, b, input [35:0] d,
               output signed [35:0] p, output [1:0] s, output [1:0] r);
  MULT18X18D #(.REG_INPUTA_CLK("CLK0"), .REG_INPUTB_CLK("CLK0"), .REG_PIPELINE_CLK("CLK0"),
               .REG_OUTPUT_CLK("CLK0"), .GSR("DISABLED"), .RESETMODE("SYNC")) times
    (.CLK0 (clk), .CE0 (1'b1), .RST0 (1'b0), .SIGNEDA (1'b1), .SIGNEDB (1'b1), {_BITS},
     {_PRODUCT});
  CCU2C #(.INIT0(16'h66CC), .INIT1(16'h66FC), .INJECT1_0("NO"), .INJECT1_1("NO")) plus
    (.CIN (1'b0), .A0 (a[0]), .B0 (b[0]), .C0 (1'b1), .D0 (go),
     .A1 (a[1]), .B1 (b[1]), .C1 (1'b1), .D1 (go), .S0 (s[0]), .S1 (s[1]));
  PDPW16KD #(.DATA_WIDTH_W(36), .DATA_WIDTH_R(36), .REGMODE("OUTREG"), .GSR("DISABLED")) ram
    (.CLKW (clk), .CLKR (clk), .CEW (go), .CER (1'b1), .OCER (1'b1), .RST (1'b0),
     .BE0 (1'b1), .BE1 (1'b1), .ADW0 (a[0]), .ADR5 (b[0]), .DI0 (d[0]), .DI1 (d[1]),
     .DO0 (r[0]), .DO1 (r[1]));
endmodule
module row(input clk, input go, input signed [17:0] a, b, input [35:0] d,
           output signed [35:0] p, output reg [1:0] s, r);
  wire [1:0] sum, read;
  element one (.clk (clk), .go (go), .a (a), .b (b), .d (d), .p (p), .s (sum), .r (read));
  always @(posedge clk) begin s <= sum; r <= read; end
endmodule
module blocks(input clk, input go, input signed [17:0] a, b, input [35:0] d,
              output signed [35:0] p, output [1:0] s, r);
  row only (.clk (clk), .go (go), .a (a), .b (b), .d (d), .p (p), .s (s), .r (r));
endmodule
"""
"""Three blocks, all with parameters, two modules deep."""

_OFF = ", ".join(
    f".{port} (1'b0)"
    for port in (
        *("AHOLD", "BHOLD", "CHOLD", "DHOLD", "IRSTTOP", "IRSTBOT", "ORSTTOP", "ORSTBOT"),
        *("OHOLDTOP", "OHOLDBOT", "ADDSUBTOP", "ADDSUBBOT", "CI", "ACCUMCI", "SIGNEXTIN"),
    )
)

UP5K = f"""
module element(input clk, input first, input signed [15:0] a, b, output [31:0] o);
  SB_MAC16 #(.A_REG(1'b1), .B_REG(1'b1), .A_SIGNED(1'b1), .B_SIGNED(1'b1),
             .TOPOUTPUT_SELECT(2'b01), .BOTOUTPUT_SELECT(2'b01), .TOPADDSUB_LOWERINPUT(2'b10),
             .BOTADDSUB_LOWERINPUT(2'b10), .TOPADDSUB_CARRYSELECT(2'b11)) times
    (.CLK (clk), .CE (1'b1), .A (a), .B (b), .C (16'b0), .D (16'b0), .OLOADTOP (first),
     .OLOADBOT (first), .O (o), {_OFF});
endmodule
module blocks(input clk, input first, input signed [15:0] a, b, output reg [31:0] o);
  wire [31:0] sum;
  element only (.clk (clk), .first (first), .a (a), .b (b), .o (sum));
  always @(posedge clk) o <= sum ^ {{o, 1'b1}};
endmodule
"""

XC7 = """
module blocks(input clk, input signed [24:0] a, input signed [17:0] b, output [47:0] p);
  DSP48E1 #(.AREG(1), .BREG(1), .MREG(1), .PREG(1), .USE_MULT("MULTIPLY")) times
    (.CLK (clk), .A ({5'b0, a}), .B (b), .P (p), .OPMODE (7'b0000101), .ALUMODE (4'b0),
     .INMODE (5'b0), .CARRYINSEL (3'b0), .CEA2 (1'b1), .CEB2 (1'b1), .CEM (1'b1), .CEP (1'b1));
endmodule
"""
