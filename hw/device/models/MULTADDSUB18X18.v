// Nexus's multiplier with a sum as carrysave uses it: registers of operands and of the sum, which
// is C and the product if LOADC is set.
module MULTADDSUB18X18 #(
  parameter REGINPUTA = "REGISTER", parameter REGINPUTB = "REGISTER",
  parameter REGINPUTC = "REGISTER", parameter REGADDSUB = "REGISTER",
  parameter REGLOADC = "REGISTER", parameter REGLOADC2 = "REGISTER",
  parameter REGCIN = "REGISTER", parameter REGPIPELINE = "REGISTER",
  parameter REGOUTPUT = "REGISTER"
) (
  input CLK, CEA, CEB, CEC, CECTRL, CECIN, CEPIPE, CEOUT,
  input RSTA, RSTB, RSTC, RSTCTRL, RSTCIN, RSTPIPE, RSTOUT,
  input SIGNED, LOADC, ADDSUB, CIN,
  input [17:0] A, B,
  input [53:0] C,
  output reg [53:0] Z = 0
);
  reg signed [18:0] a = 0, b = 0;
  wire is_zero = a === 0 || b === 0;
  wire signed [53:0] product = is_zero ? 0 : a * b;
  always @(posedge CLK) begin
    a <= {SIGNED & A[17], A};
    b <= {SIGNED & B[17], B};
    Z <= (LOADC ? C : Z) + product;
  end
endmodule
