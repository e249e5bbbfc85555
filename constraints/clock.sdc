# One clock, for every generated design; times in ns. The environment variable
# CARRYSAVE_PERIOD_NS overrides the period.

set period 10.0
if {[info exists ::env(CARRYSAVE_PERIOD_NS)]} { set period $::env(CARRYSAVE_PERIOD_NS) }

create_clock -name clk -period $period [get_ports clk]

# Ports start and end in registers of the neighbours, so paths to them count in full.
foreach port [all_inputs] {
    if {[get_property $port full_name] ne "clk"} { set_input_delay 0 -clock clk $port }
}
set_output_delay 0 -clock clk [all_outputs]
