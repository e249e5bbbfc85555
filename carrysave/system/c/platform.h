/* What processors do each in their own way: caches and interrupts. */

#ifndef PLATFORM_H
#define PLATFORM_H

#include <stdint.h>

#if defined(CPU_PICORV32)

/* It has no cache. */
static inline void drop_cache(void)
{
    __asm__ volatile("" ::: "memory");
}

/* Its own instruction maskirq: which may come. */
static inline void allow_interrupts(uint32_t which)
{
    __asm__ volatile(".insn r 0x0B, 6, 3, zero, %0, zero" : : "r"(~which));
}

static inline void take_interrupts(void)
{
}

#else

/* VexRiscv's data cache writes through, and knows nothing of what the co-processor writes. */
static inline void drop_cache(void)
{
    __asm__ volatile(".word 0x0000500F" ::: "memory"); /* all of it; an instruction of VexRiscv's */
}

/* Of LiteX's array of interrupts: which may come. */
static inline void allow_interrupts(uint32_t which)
{
    __asm__ volatile("csrw 0xBC0, %0" : : "r"(which));
}

static inline void take_interrupts(void)
{
    __asm__ volatile("csrs mie, %0" : : "r"(0x800)); /* external interrupts */
    __asm__ volatile("csrsi mstatus, 8");
}

#endif

#define CARRYSAVE_DROPS_ALL 1
#define CARRYSAVE_INVALIDATE(device, address, bytes) \
    ((void)(device), (void)(address), (void)(bytes), drop_cache())

/* How long moves take: of main.c. */
void step_begins(uint32_t kind);

#define CARRYSAVE_STEP(device, kind) ((void)(device), step_begins(kind))

#endif
