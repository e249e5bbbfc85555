// Nexus's multiplier of 9 x 9 bits as carrysave uses it: registers of operands and of the product.
module MULT9X9 #(
  parameter REGINPUTA = "REGISTER", parameter REGINPUTB = "REGISTER",
  parameter REGOUTPUT = "REGISTER"
) (
  input CLK, CEA, CEB, CEOUT, RSTA, RSTB, RSTOUT, SIGNEDA, SIGNEDB,
  input [8:0] A, B,
  output reg [17:0] Z = 0
);
  reg signed [9:0] a = 0, b = 0;
  wire is_zero = a === 0 || b === 0;
  always @(posedge CLK) begin
    if (RSTA) a <= 0; else if (CEA) a <= {SIGNEDA & A[8], A};
    if (RSTB) b <= 0; else if (CEB) b <= {SIGNEDB & B[8], B};
    if (RSTOUT) Z <= 0; else if (CEOUT) Z <= is_zero ? 0 : a * b;
  end
endmodule
