# For synthesis of the block by itself: give this file the property USED_IN out_of_context.
# In a design, the period comes from the clock that drives the block.

create_clock -name @clock@ -period @period@ [get_ports @clock@]
