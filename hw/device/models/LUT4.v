// A table of four inputs of ECP5.
module LUT4 #(
  parameter [15:0] INIT = 0
) (
  input A, B, C, D,
  output Z
);
  assign Z = INIT[{D, C, B, A}];
endmodule
