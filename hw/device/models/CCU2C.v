// A slice of ECP5's carry chain: two tables of four inputs, each with a sum and a carry.
module CCU2C #(
  parameter [15:0] INIT0 = 0, parameter [15:0] INIT1 = 0,
  parameter INJECT1_0 = "YES", parameter INJECT1_1 = "YES"
) (
  input CIN, A0, B0, C0, D0, A1, B1, C1, D1,
  output S0, S1, COUT
);
  wire table0 = INIT0[{D0, C0, B0, A0}], made0 = INIT0[{B0, A0}];
  wire table1 = INIT1[{D1, C1, B1, A1}], made1 = INIT1[{B1, A1}];
  wire carry = table0 ? CIN : made0;
  assign S0 = table0 ^ CIN;
  assign S1 = table1 ^ carry;
  assign COUT = table1 ? carry : made1;
endmodule
