# Vivado project of a system: a processor, @module, and memory.
#
#     vivado -mode batch -source block_design.tcl -tclargs -part xc7z020clg400-1
#
# Options, each with a value:
#   -part NAME        of a Zynq-7000 or a Zynq UltraScale+; its memory stays as Vivado has it
#   -board NAME       board_part, in place of a part: its preset sets up pins and memory
#   -folder NAME      of the project, which is new; by default vivado
#   -synthesise 1     synthesises: every block out of context, then the whole
#
# The block comes in as Verilog, whose attributes say what its interfaces are.

set here [file dirname [file normalize [info script]]]
set options [dict create -part "" -board "" -folder vivado -synthesise 0]
if {[llength $argv] % 2} {
    error "options must have a value each, not: $argv"
}
foreach {name value} $argv {
    if {![dict exists $options $name]} {
        error "options are [join [dict keys $options] {, }], not $name"
    }
    dict set options $name $value
}
set part [dict get $options -part]
set board [dict get $options -board]
if {($part eq "") == ($board eq "")} {
    error "either -part or -board must be given"
}

# ---- What processors call their clock, reset, interrupt and ports

set zynq {
    vlnv xilinx.com:ip:processing_system7
    rule xilinx.com:bd_rule:processing_system7
    external {make_external "FIXED_IO, DDR"}
    settings {
        CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ @mhz
        CONFIG.PCW_USE_M_AXI_GP0 1
        CONFIG.PCW_USE_S_AXI_HP0 1
        CONFIG.PCW_USE_FABRIC_INTERRUPT 1
        CONFIG.PCW_IRQ_F2P_INTR 1
    }
    clock FCLK_CLK0
    reset FCLK_RESET0_N
    interrupt IRQ_F2P
    control M_AXI_GP0
    memory S_AXI_HP0
    clocks {M_AXI_GP0_ACLK S_AXI_HP0_ACLK}
    segment S_AXI_HP0/HP0_DDR_LOWOCM
}
set zynq_ultrascale {
    vlnv xilinx.com:ip:zynq_ultra_ps_e
    rule xilinx.com:bd_rule:zynq_ultra_ps_e
    external {}
    settings {
        CONFIG.PSU__FPGA_PL0_ENABLE 1
        CONFIG.PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ @mhz
        CONFIG.PSU__USE__M_AXI_GP0 1
        CONFIG.PSU__USE__M_AXI_GP1 0
        CONFIG.PSU__USE__M_AXI_GP2 0
        CONFIG.PSU__USE__S_AXI_GP2 1
        CONFIG.PSU__USE__IRQ0 1
    }
    clock pl_clk0
    reset pl_resetn0
    interrupt pl_ps_irq0
    control M_AXI_HPM0_FPD
    memory S_AXI_HP0_FPD
    clocks {maxihpm0_fpd_aclk saxihp0_fpd_aclk}
    segment SAXIGP2/HP0_DDR_LOW
}

proc processor {part} {
    global zynq zynq_ultrascale
    if {[string match x?7z* $part]} {
        return $zynq
    }
    if {[string match x?zu* $part] || [string match xck2* $part]} {
        return $zynq_ultrascale
    }
    error "part must be a Zynq-7000 or a Zynq UltraScale+, not $part"
}
proc cell {vlnv name args} {
    create_bd_cell -type ip -vlnv $vlnv $name
    if {[llength $args]} {
        set_property -dict $args [get_bd_cells $name]
    }
}
proc bus {from to} {
    connect_bd_intf_net [get_bd_intf_pins $from] [get_bd_intf_pins $to]
}
proc wire {from args} {
    foreach to $args {
        connect_bd_net [get_bd_pins $from] [get_bd_pins $to]
    }
}
proc reach {space segment} {
    return [assign_bd_address -target_address_space [get_bd_addr_spaces $space] \
        [get_bd_addr_segs $segment]]
}

# ---- The project

if {$board eq ""} {
    set ps [processor $part]
    create_project system [dict get $options -folder] -part $part
} else {
    create_project system [dict get $options -folder]
    set_property board_part $board [current_project]
    set ps [processor [get_property part [current_project]]]
}
add_files -norecurse [file join $here @module.v]
update_compile_order -fileset sources_1
create_bd_design system

# ---- Blocks

cell [dict get $ps vlnv] ps
apply_bd_automation -rule [dict get $ps rule] \
    -config [concat [dict get $ps external] [list apply_board_preset [expr {$board ne ""}]]] \
    [get_bd_cells ps]
set_property -dict [dict get $ps settings] [get_bd_cells ps]
cell xilinx.com:ip:proc_sys_reset reset
create_bd_cell -type module -reference @module matmul
cell xilinx.com:ip:smartconnect control CONFIG.NUM_SI 1 CONFIG.NUM_MI @subordinates
cell xilinx.com:ip:smartconnect memory CONFIG.NUM_SI @managers CONFIG.NUM_MI 1
@{cells}
# ---- Connections

bus ps/[dict get $ps control] control/S00_AXI
bus memory/M00_AXI ps/[dict get $ps memory]
bus control/M00_AXI matmul/@registers
@{buses}foreach clock [dict get $ps clocks] {
    wire ps/[dict get $ps clock] ps/$clock
}
wire ps/[dict get $ps clock] \
    reset/slowest_sync_clk control/aclk memory/aclk matmul/@clock@{clocks}
wire ps/[dict get $ps reset] reset/ext_reset_in
wire reset/peripheral_aresetn \
    control/aresetn memory/aresetn matmul/@reset@{resets}
wire matmul/@interrupt ps/[dict get $ps interrupt]

# ---- Addresses: of registers as the processor sees them, of memory as the others do

set registers [reach ps/Data matmul/@registers/reg0]
puts "registers of the co-processor: [get_property OFFSET $registers]"
@addresses
# ---- The end

validate_bd_design
save_bd_design
set design [get_files system.bd]
set_property synth_checkpoint_mode Hierarchical $design
add_files -norecurse [make_wrapper -files $design -top]
set_property top system_wrapper [current_fileset]
update_compile_order -fileset sources_1
if {[dict get $options -synthesise]} {
    launch_runs synth_1
    wait_on_run synth_1
    if {[get_property PROGRESS [get_runs synth_1]] ne "100%"} {
        error "synthesis failed: see [dict get $options -folder]"
    }
    open_run synth_1
    report_utilization -hierarchical
    report_timing_summary
}
