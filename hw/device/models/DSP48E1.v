// DSP48E1 as carrysave uses it: a multiplier of 25 x 18 bits with its register, a 48-bit sum of the
// product, of C, of the sum itself or that above, and cascades of operands
// and sums. AREG and BREG of 1 or 2, CREG of 0 or 1, MREG, PREG and OPMODEREG 1; no pre-adder, no
// carry, no logic unit, no pattern detector, no resets.
module DSP48E1 #(
  parameter A_INPUT = "DIRECT", parameter B_INPUT = "DIRECT", parameter USE_MULT = "MULTIPLY",
  parameter USE_DPORT = "FALSE",
  parameter AREG = 1, parameter BREG = 1, parameter ACASCREG = 1, parameter BCASCREG = 1,
  parameter CREG = 1, parameter DREG = 1, parameter ADREG = 1, parameter MREG = 1,
  parameter PREG = 1, parameter OPMODEREG = 1, parameter ALUMODEREG = 1, parameter INMODEREG = 1,
  parameter CARRYINREG = 1, parameter CARRYINSELREG = 1,
  parameter [6:0] IS_OPMODE_INVERTED = 0
) (
  input CLK, input [29:0] A, ACIN, input [17:0] B, BCIN, input [47:0] C, PCIN,
  input [24:0] D, input [6:0] OPMODE, input [3:0] ALUMODE, input [4:0] INMODE,
  input [2:0] CARRYINSEL, input CARRYIN, CARRYCASCIN, MULTSIGNIN,
  input CEA1, CEA2, CEAD, CEALUMODE, CEB1, CEB2, CEC, CECARRYIN, CECTRL, CED, CEINMODE, CEM, CEP,
  input RSTA, RSTALLCARRYIN, RSTALUMODE, RSTB, RSTC, RSTCTRL, RSTD, RSTINMODE, RSTM, RSTP,
  output reg [47:0] P = 0, output [47:0] PCOUT, output [29:0] ACOUT, output [17:0] BCOUT
);
  wire [29:0] a = A_INPUT == "CASCADE" ? ACIN : A;
  wire [17:0] b = B_INPUT == "CASCADE" ? BCIN : B;
  reg [29:0] a1 = 0, a2 = 0;
  reg [17:0] b1 = 0, b2 = 0;
  reg [47:0] c1 = 0;
  reg [6:0] opmode = 0;
  reg signed [42:0] product = 0;
  wire is_zero = a2[24:0] === 0 || b2 === 0;
  wire [47:0] c = CREG == 1 ? c1 : C;
  wire [47:0] x = opmode[1:0] == 2'b01 ? {{5{product[42]}}, product} : 48'b0;
  wire [47:0] y = opmode[3:2] == 2'b11 ? c : 48'b0;
  wire [47:0] z = opmode[6:4] == 3'b001 ? PCIN : opmode[6:4] == 3'b010 ? P :
                  opmode[6:4] == 3'b011 ? c : 48'b0;
  always @(posedge CLK) begin
    if (CEA1) a1 <= a;
    if (CEA2) a2 <= AREG == 2 ? a1 : a;
    if (CEB1) b1 <= b;
    if (CEB2) b2 <= BREG == 2 ? b1 : b;
    if (CEC) c1 <= C;
    if (CECTRL) opmode <= OPMODE ^ IS_OPMODE_INVERTED;
    if (CEM) product <= is_zero ? 0 : $signed(a2[24:0]) * $signed(b2);
    if (CEP) P <= x + y + z;
  end
  assign PCOUT = P;
  assign ACOUT = AREG == 2 && ACASCREG == 1 ? a1 : a2;
  assign BCOUT = BREG == 2 && BCASCREG == 1 ? b1 : b2;
endmodule
