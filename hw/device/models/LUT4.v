// A table of four inputs of ECP5. An unknown input matters only where the table depends on it.
module LUT4 #(
  parameter [15:0] INIT = 0
) (
  input A, B, C, D,
  output Z
);
  wire [7:0] by_d = D ? INIT[15:8] : INIT[7:0];
  wire [3:0] by_c = C ? by_d[7:4] : by_d[3:0];
  wire [1:0] by_b = B ? by_c[3:2] : by_c[1:0];
  assign Z = A ? by_b[1] : by_b[0];
endmodule
