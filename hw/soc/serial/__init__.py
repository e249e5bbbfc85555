"""Serial line: UART and host link, in place of AXI ports."""
