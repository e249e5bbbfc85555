// iCE40 UltraPlus's multiplier as carrysave uses it: registers of operands and of products; a product
// of all bits or two of halves; sums that are kept or loaded, or no sum. Ports that it leaves at 0 do
// nothing here.
module SB_MAC16 #(
  parameter [0:0] A_REG = 0, parameter [0:0] B_REG = 0,
  parameter [0:0] A_SIGNED = 0, parameter [0:0] B_SIGNED = 0, parameter [0:0] MODE_8x8 = 0,
  parameter [0:0] TOP_8x8_MULT_REG = 0, parameter [0:0] BOT_8x8_MULT_REG = 0,
  parameter [0:0] PIPELINE_16x16_MULT_REG1 = 0, parameter [0:0] PIPELINE_16x16_MULT_REG2 = 0,
  parameter [1:0] TOPOUTPUT_SELECT = 0, parameter [1:0] BOTOUTPUT_SELECT = 0,
  parameter [1:0] TOPADDSUB_LOWERINPUT = 0, parameter [1:0] BOTADDSUB_LOWERINPUT = 0,
  parameter [0:0] TOPADDSUB_UPPERINPUT = 0, parameter [0:0] BOTADDSUB_UPPERINPUT = 0,
  parameter [1:0] TOPADDSUB_CARRYSELECT = 0
) (
  input CLK, CE, OLOADTOP, OLOADBOT,
  input [15:0] A, B, C, D,
  input AHOLD, BHOLD, CHOLD, DHOLD, IRSTTOP, IRSTBOT, ORSTTOP, ORSTBOT, OHOLDTOP, OHOLDBOT,
  input ADDSUBTOP, ADDSUBBOT, CI, ACCUMCI, SIGNEXTIN,
  output [31:0] O
);
  reg [15:0] a = 0, b = 0;
  reg [31:0] middle = 0, product = 0, sum = 0;
  // Signs of all 16 bits, and of the halves.
  wire signed [16:0] whole_a = {A_SIGNED & a[15], a}, whole_b = {B_SIGNED & b[15], b};
  wire signed [8:0] top_a = {A_SIGNED & a[15], a[15:8]}, top_b = {B_SIGNED & b[15], b[15:8]};
  wire signed [8:0] low_a = {A_SIGNED & a[7], a[7:0]}, low_b = {B_SIGNED & b[7], b[7:0]};
  wire signed [31:0] whole = whole_a === 0 || whole_b === 0 ? 0 : whole_a * whole_b;
  wire signed [15:0] top = top_a === 0 || top_b === 0 ? 0 : top_a * top_b;
  wire signed [15:0] low = low_a === 0 || low_b === 0 ? 0 : low_a * low_b;
  wire [31:0] kept = TOPADDSUB_UPPERINPUT ? {C, D} : sum;
  wire [31:0] halves = {kept[31:16] + middle[31:16], kept[15:0] + middle[15:0]};
  wire [31:0] added = MODE_8x8 ? halves : kept + product;
  always @(posedge CLK)
    if (CE) begin
      a <= A;
      b <= B;
      middle <= MODE_8x8 ? {top, low} : whole;
      product <= middle;
      sum <= {OLOADTOP ? C : added[31:16], OLOADBOT ? D : added[15:0]};
    end
  assign O = TOPOUTPUT_SELECT == 3 ? product : sum;
endmodule
