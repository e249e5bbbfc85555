# One clock; times in ns. The environment variable CARRYSAVE_PERIOD_NS overrides the period.

set period @period@
if {[info exists ::env(CARRYSAVE_PERIOD_NS)]} { set period $::env(CARRYSAVE_PERIOD_NS) }

# The share of a period that a path takes outside, before an input and after an output.
set outside @outside@

create_clock -name @clock@ -period $period [get_ports @clock@]
@second@
# The reset is among them: it is synchronous, so that its end must reach all registers in time.
set_input_delay [expr {$outside * $period}] -clock @clock@ [get_ports {
@inputs@}]
set_output_delay [expr {$outside * $period}] -clock @clock@ [get_ports {
@outputs@}]
