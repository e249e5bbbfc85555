// A slice of ECP5's carry chain: two tables of four inputs, each with a sum and a carry.
module CCU2C #(
  parameter [15:0] INIT0 = 0, parameter [15:0] INIT1 = 0,
  parameter INJECT1_0 = "YES", parameter INJECT1_1 = "YES"
) (
  input CIN, A0, B0, C0, D0, A1, B1, C1, D1,
  output S0, S1, COUT
);
  // An unknown input matters only where a table depends on it, as in silicon.
  function look(input [15:0] entries, input d, input c, input b, input a);
    reg [7:0] by_d;
    reg [3:0] by_c;
    reg [1:0] by_b;
    begin
      by_d = d ? entries[15:8] : entries[7:0];
      by_c = c ? by_d[7:4] : by_d[3:0];
      by_b = b ? by_c[3:2] : by_c[1:0];
      look = a ? by_b[1] : by_b[0];
    end
  endfunction
  wire table0 = look(INIT0, D0, C0, B0, A0), made0 = look(INIT0, 1'b0, 1'b0, B0, A0);
  wire table1 = look(INIT1, D1, C1, B1, A1), made1 = look(INIT1, 1'b0, 1'b0, B1, A1);
  wire carry = table0 ? CIN : made0;
  assign S0 = table0 ^ CIN;
  assign S1 = table1 ^ carry;
  assign COUT = table1 ? carry : made1;
endmodule
