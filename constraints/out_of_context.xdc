# For synthesis and timing of the block by itself. Vivado must be told that nothing else is to read
# this file, or the clock would be there twice; either, with a project,
#
#     set_property USED_IN {synthesis implementation out_of_context} [get_files <this file>]
#
# or, without one, `read_xdc -mode out_of_context <this file>`. In a design, the period comes from
# what drives the clock.

create_clock -name @clock@ -period @period@ [get_ports @clock@]

# Placed and routed by itself, the block has a clock without a buffer, and so no clock skew. To have
# it, name the site from which the clock will come; which there are, the device says:
#
#     set_property HD.CLK_SRC <site> [get_ports @clock@]
