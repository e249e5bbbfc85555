// Nexus's four multipliers of 9 x 9 bits with a sum as carrysave uses them: registers of operands
// and of the sum, which is C and the products if LOADC is set.
module MULTADDSUB9X9WIDE #(
  parameter REGINPUTAB0 = "REGISTER", parameter REGINPUTAB1 = "REGISTER",
  parameter REGINPUTAB2 = "REGISTER", parameter REGINPUTAB3 = "REGISTER",
  parameter REGINPUTC = "REGISTER", parameter REGADDSUB = "REGISTER",
  parameter REGLOADC = "REGISTER", parameter REGLOADC2 = "REGISTER",
  parameter REGPIPELINE = "REGISTER", parameter REGOUTPUT = "REGISTER"
) (
  input CLK, CEA0A1, CEA2A3, CEB0B1, CEB2B3, CEC, CECTRL, CEPIPE, CEOUT,
  input RSTA0A1, RSTA2A3, RSTB0B1, RSTB2B3, RSTC, RSTCTRL, RSTPIPE, RSTOUT,
  input SIGNED, LOADC,
  input [3:0] ADDSUB,
  input [8:0] A0, B0, A1, B1, A2, B2, A3, B3,
  input [53:0] C,
  output reg [53:0] Z = 0
);
  reg signed [9:0] a0 = 0, b0 = 0, a1 = 0, b1 = 0, a2 = 0, b2 = 0, a3 = 0, b3 = 0;
  wire signed [19:0] p0 = a0 === 0 || b0 === 0 ? 0 : a0 * b0;
  wire signed [19:0] p1 = a1 === 0 || b1 === 0 ? 0 : a1 * b1;
  wire signed [19:0] p2 = a2 === 0 || b2 === 0 ? 0 : a2 * b2;
  wire signed [19:0] p3 = a3 === 0 || b3 === 0 ? 0 : a3 * b3;
  wire signed [53:0] all = p0 + p1 + p2 + p3;
  always @(posedge CLK) begin
    a0 <= {SIGNED & A0[8], A0}; b0 <= {SIGNED & B0[8], B0};
    a1 <= {SIGNED & A1[8], A1}; b1 <= {SIGNED & B1[8], B1};
    a2 <= {SIGNED & A2[8], A2}; b2 <= {SIGNED & B2[8], B2};
    a3 <= {SIGNED & A3[8], A3}; b3 <= {SIGNED & B3[8], B3};
    Z <= (LOADC ? C : Z) + all;
  end
endmodule
