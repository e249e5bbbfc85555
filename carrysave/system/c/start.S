/* From reset to main; and what an interrupt calls. */

    .section .text.start
    .global _start
_start:
#if defined(CPU_PICORV32)
    j _boot
    .balign 16 /* where PicoRV32 goes with an interrupt */
    j _trap
_boot:
#else
    la t0, _trap
    csrw mtvec, t0
#endif
    la sp, _stack
    la a0, _bss
    la a1, _ebss
1:  bgeu a0, a1, 2f
    sw zero, 0(a0)
    addi a0, a0, 4
    j 1b
2:  call main
3:  j 3b

    .balign 4
_trap:
    addi sp, sp, -64
    sw ra, 0(sp)
    sw t0, 4(sp)
    sw t1, 8(sp)
    sw t2, 12(sp)
    sw a0, 16(sp)
    sw a1, 20(sp)
    sw a2, 24(sp)
    sw a3, 28(sp)
    sw a4, 32(sp)
    sw a5, 36(sp)
    sw a6, 40(sp)
    sw a7, 44(sp)
    sw t3, 48(sp)
    sw t4, 52(sp)
    sw t5, 56(sp)
    sw t6, 60(sp)
    call interrupted
    lw ra, 0(sp)
    lw t0, 4(sp)
    lw t1, 8(sp)
    lw t2, 12(sp)
    lw a0, 16(sp)
    lw a1, 20(sp)
    lw a2, 24(sp)
    lw a3, 28(sp)
    lw a4, 32(sp)
    lw a5, 36(sp)
    lw a6, 40(sp)
    lw a7, 44(sp)
    lw t3, 48(sp)
    lw t4, 52(sp)
    lw t5, 56(sp)
    lw t6, 60(sp)
    addi sp, sp, 64
#if defined(CPU_PICORV32)
    .insn r 0x0B, 0, 2, zero, zero, zero /* retirq */
#else
    mret
#endif
