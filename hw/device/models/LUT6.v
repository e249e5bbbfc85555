// A table of six inputs of Xilinx families. An unknown input matters only where the table depends on it.
module LUT6 #(
  parameter [63:0] INIT = 0
) (
  input I0, I1, I2, I3, I4, I5,
  output O
);
  wire [31:0] by_5 = I5 ? INIT[63:32] : INIT[31:0];
  wire [15:0] by_4 = I4 ? by_5[31:16] : by_5[15:0];
  wire [7:0] by_3 = I3 ? by_4[15:8] : by_4[7:0];
  wire [3:0] by_2 = I2 ? by_3[7:4] : by_3[3:0];
  wire [1:0] by_1 = I1 ? by_2[3:2] : by_2[1:0];
  assign O = I0 ? by_1[1] : by_1[0];
endmodule
