// Output-stationary arrays as one writes them by hand: every element multiplies, adds and passes
// its operands on; behind each sum is a register of a chain that takes it upwards.

// Delays data by a number of cycles.
module delay #(parameter WIDTH = 8, parameter CYCLES = 1) (
  input clk, input [WIDTH-1:0] i, output [WIDTH-1:0] o
);
  reg [WIDTH*CYCLES-1:0] stages;
  generate
    if (CYCLES == 1) always @(posedge clk) stages <= i;
    else always @(posedge clk) stages <= {stages[WIDTH*(CYCLES-1)-1:0], i};
  endgenerate
  assign o = stages[WIDTH*(CYCLES-1) +: WIDTH];
endmodule

// One cycle from operands to sum.
module element_plain #(parameter A = 8, parameter B = 8, parameter C = 32) (
  input clk, input first_i, last_i, input signed [A-1:0] a_i, input signed [B-1:0] b_i,
  input [C-1:0] c_i, output reg first_o, last_o, output reg signed [A-1:0] a_o,
  output reg signed [B-1:0] b_o, output reg [C-1:0] c_o
);
  reg signed [C-1:0] sum;
  always @(posedge clk) begin
    a_o <= a_i; b_o <= b_i; first_o <= first_i; last_o <= last_i;
    sum <= first_i ? a_i * b_i : sum + a_i * b_i;
    c_o <= last_i ? sum : c_i;
  end
endmodule

// Registers for operands, product and sum.
module element_pipelined #(parameter A = 8, parameter B = 8, parameter C = 32) (
  input clk, input first_i, last_i, input signed [A-1:0] a_i, input signed [B-1:0] b_i,
  input [C-1:0] c_i, output reg first_o, last_o, output reg signed [A-1:0] a_o,
  output reg signed [B-1:0] b_o, output reg [C-1:0] c_o
);
  reg signed [C-1:0] sum;
  reg signed [A+B-1:0] product;
  always @(posedge clk) begin
    a_o <= a_i; b_o <= b_i; first_o <= first_i; last_o <= last_i;
    product <= a_o * b_o;
    sum <= first_o ? product : sum + product;
    c_o <= last_o ? sum : c_i;
  end
endmodule

// A code of A for every row and one of B for every column enter in a cycle, `first` with the first
// of a tile, `last` with its last; sums leave at the top, a row every other cycle, while the next
// tile enters, which must have K >= 2 M for that.
module plain_array #(
  parameter M = 8, parameter N = 8, parameter A = 8, parameter B = 8, parameter C = 32,
  parameter PIPELINED = 0
) (
  input clk, input first, last, input [M*A-1:0] a, input [N*B-1:0] b, output [N*C-1:0] c
);
  wire [M*(N+1)*A-1:0] across;
  wire [(M+1)*N*B-1:0] down;
  wire [(M+1)*N*C-1:0] up;
  wire [M*(N+1)-1:0] starts, ends;
  genvar i, j;
  generate
    delay #(.WIDTH(1), .CYCLES(PIPELINED ? 2 : 1)) of_first (.clk(clk), .i(first), .o(starts[0]));
    delay #(.WIDTH(1), .CYCLES(PIPELINED ? 3 : 2)) of_last (.clk(clk), .i(last), .o(ends[0]));
    for (i = 0; i < M; i = i + 1) begin : row
      delay #(.WIDTH(A), .CYCLES(i + 1)) of_a
        (.clk(clk), .i(a[i*A +: A]), .o(across[i*(N+1)*A +: A]));
      if (i > 0) begin : marks
        assign starts[i*(N+1)] = starts[(i-1)*(N+1) + 1];
        assign ends[i*(N+1)] = ends[(i-1)*(N+1) + 1];
      end
      for (j = 0; j < N; j = j + 1) begin : column
        localparam HERE = i*(N+1) + j;
        if (PIPELINED) begin : at
          element_pipelined #(.A(A), .B(B), .C(C)) pe (
            .clk(clk), .first_i(starts[HERE]), .last_i(ends[HERE]),
            .a_i(across[HERE*A +: A]), .b_i(down[(i*N+j)*B +: B]), .c_i(up[((i+1)*N+j)*C +: C]),
            .first_o(starts[HERE+1]), .last_o(ends[HERE+1]),
            .a_o(across[(HERE+1)*A +: A]), .b_o(down[((i+1)*N+j)*B +: B]),
            .c_o(up[(i*N+j)*C +: C]));
        end else begin : at
          element_plain #(.A(A), .B(B), .C(C)) pe (
            .clk(clk), .first_i(starts[HERE]), .last_i(ends[HERE]),
            .a_i(across[HERE*A +: A]), .b_i(down[(i*N+j)*B +: B]), .c_i(up[((i+1)*N+j)*C +: C]),
            .first_o(starts[HERE+1]), .last_o(ends[HERE+1]),
            .a_o(across[(HERE+1)*A +: A]), .b_o(down[((i+1)*N+j)*B +: B]),
            .c_o(up[(i*N+j)*C +: C]));
        end
      end
    end
    for (j = 0; j < N; j = j + 1) begin : edge_of_b
      delay #(.WIDTH(B), .CYCLES(j + 1)) of_b (.clk(clk), .i(b[j*B +: B]), .o(down[j*B +: B]));
      assign up[(M*N+j)*C +: C] = {C{1'b0}};
      assign c[j*C +: C] = up[j*C +: C];
    end
  endgenerate
endmodule
