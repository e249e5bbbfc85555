// Two generated engines below a loop and a wrapper, with other names of ports than their own.
`include "widths.svh"

module wrapper (
    input aclk,
    input areset,
    input a_tvalid, output a_tready, input [`OPERANDS-1:0] a_tdata, input a_tlast,
    input b_tvalid, output b_tready, input [`OPERANDS-1:0] b_tdata,
    output c_tvalid, input c_tready, output [`SUMS-1:0] c_tdata, output c_tlast
);
  systolic_os_m2_n2_k_max16 engine (
      .clk(aclk), .rst(areset),
      .i_a_valid(a_tvalid), .i_a_ready(a_tready), .i_a_data(a_tdata), .i_a_last(a_tlast),
      .i_b_valid(b_tvalid), .i_b_ready(b_tready), .i_b_data(b_tdata),
      .o_c_valid(c_tvalid), .o_c_ready(c_tready), .o_c_data(c_tdata), .o_c_last(c_tlast)
  );
endmodule

module pair (
    input aclk,
    input areset,
    input s0_a_tvalid, output s0_a_tready, input [`OPERANDS-1:0] s0_a_tdata, input s0_a_tlast,
    input s0_b_tvalid, output s0_b_tready, input [`OPERANDS-1:0] s0_b_tdata,
    output m0_c_tvalid, input m0_c_tready, output [`SUMS-1:0] m0_c_tdata, output m0_c_tlast,
    input s1_a_tvalid, output s1_a_tready, input [`OPERANDS-1:0] s1_a_tdata, input s1_a_tlast,
    input s1_b_tvalid, output s1_b_tready, input [`OPERANDS-1:0] s1_b_tdata,
    output m1_c_tvalid, input m1_c_tready, output [`SUMS-1:0] m1_c_tdata, output m1_c_tlast
);
  logic [1:0] a_ready, b_ready, c_valid, c_last;
  logic [`SUMS-1:0] c_data[2];
  assign {s1_a_tready, s0_a_tready} = a_ready;
  assign {s1_b_tready, s0_b_tready} = b_ready;
  assign {m1_c_tvalid, m0_c_tvalid} = c_valid;
  assign {m1_c_tlast, m0_c_tlast} = c_last;
  assign m0_c_tdata = c_data[0];
  assign m1_c_tdata = c_data[1];
  for (genvar i = 0; i < 2; i++) begin : lane
    wrapper inner (
        .aclk, .areset,
        .a_tvalid(i ? s1_a_tvalid : s0_a_tvalid), .a_tready(a_ready[i]),
        .a_tdata(i ? s1_a_tdata : s0_a_tdata), .a_tlast(i ? s1_a_tlast : s0_a_tlast),
        .b_tvalid(i ? s1_b_tvalid : s0_b_tvalid), .b_tready(b_ready[i]),
        .b_tdata(i ? s1_b_tdata : s0_b_tdata),
        .c_tvalid(c_valid[i]), .c_tready(i ? m1_c_tready : m0_c_tready),
        .c_tdata(c_data[i]), .c_tlast(c_last[i])
    );
  end
endmodule
