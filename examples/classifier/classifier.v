// Classes of samples: the index of the greatest of four sums, of 8-bit features times weights.
//
// Weights come first, a beat for each feature with those of all four classes; then samples, four at
// a time, a beat for each feature. A generated 4 x 4 array multiplies; the memory and the search
// for the greatest sum are written here.
module classifier (
    input         clk,
    input         rst,

    input         w_valid,
    output        w_ready,
    input  [31:0] w_data,  // 4 x int8: weights of a feature, class 0 in the lowest bits
    input         w_last,

    input         x_valid,
    output        x_ready,
    input  [31:0] x_data,  // 4 x int8: a feature of four samples, sample 0 in the lowest bits
    input         x_last,

    output        y_valid,
    input         y_ready,
    output [1:0]  y_class  // of each sample, in order
);
  localparam SUM = 22;  // bits of a sum of up to 64 products

  // Weights of up to 64 features; `row` goes around once for each four samples.
  reg [31:0] weights[0:63];
  reg [5:0] count, row;
  reg loaded;
  wire b_valid = loaded;
  wire b_ready;

  always @(posedge clk) begin
    if (w_valid & w_ready) begin
      weights[count] <= w_data;
      count <= w_last ? count : count + 1;
      loaded <= w_last;
    end
    if (b_valid & b_ready) row <= row == count ? 0 : row + 1;
    if (rst) begin
      count <= 0;
      row <= 0;
      loaded <= 0;
    end
  end
  assign w_ready = ~loaded;

  wire c_valid;
  wire [4*SUM-1:0] c_data;
  wire c_last;
  systolic_os_m4_n4_k_max64 engine (
      .clk(clk), .rst(rst),
      .i_a_valid(x_valid), .i_a_ready(x_ready), .i_a_data(x_data), .i_a_last(x_last),
      .i_b_valid(b_valid), .i_b_ready(b_ready), .i_b_data(weights[row]),
      .o_c_valid(c_valid), .o_c_ready(y_ready), .o_c_data(c_data), .o_c_last(c_last)
  );

  // The first of the greatest: two of each pair, then one of the two.
  wire signed [SUM-1:0] c0 = c_data[0*SUM+:SUM], c1 = c_data[1*SUM+:SUM];
  wire signed [SUM-1:0] c2 = c_data[2*SUM+:SUM], c3 = c_data[3*SUM+:SUM];
  wire low = c1 > c0, high = c3 > c2;
  wire signed [SUM-1:0] best_low = low ? c1 : c0, best_high = high ? c3 : c2;
  wire upper = best_high > best_low;
  assign y_class = {upper, upper ? high : low};
  assign y_valid = c_valid;
endmodule
