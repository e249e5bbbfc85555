/* The co-processor behind a serial line, beside carrysave.h: its registers and its memory.
 *
 * Name this file in CARRYSAVE_CONFIG, give carrysave_open the link as its context, and write the
 * matrices of a job with carrysave_uart_write. Damaged, lost and late bytes are repaired by
 * repetition: each access takes place once. What cannot be repaired is CARRYSAVE_LINK; then nothing
 * more is accessed up to carrysave_reset, or carrysave_uart_reset. */

#ifndef CARRYSAVE_UART_H
#define CARRYSAVE_UART_H

#include "carrysave.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the caller sets, the rest being 0; 8N1 at the device's rate. */
typedef struct {
    void *context;
    /* Put bytes onto the line, and wait until they are on it, or nearly; false: it failed. */
    bool (*send)(void *context, const uint8_t *bytes, uint32_t count);
    /* Take up to `count` bytes that come; 0: none came for a timeout, which is no less than the
     * line's longest pause. */
    uint32_t (*receive)(void *context, uint8_t *bytes, uint32_t count);
    uint32_t tries;    /* sends of a command until it is given up; 0: 8 */
    uint32_t patience; /* more waits in vain until a command is sent again */
    uint8_t sequence;  /* of a number at random, if programs take turns on a line */
    /* The link's own. */
    uint32_t memory_bytes;
    uint32_t resets; /* how often the device was found reset: then it holds no matrix any more */
    bool failed;
    bool unstarted; /* it failed because memory has not started */
    uint8_t *here, *there; /* of carrysave_uart_place; null: matrices are the caller's to write */
    uint32_t placed, bytes;
} carrysave_uart;

/* Greet the device: after what is on the line has been dropped. CARRYSAVE_NO_DEVICE: another one. */
carrysave_status carrysave_uart_open(carrysave_uart *link);

/* Drop what is on the line, and greet the device; not a reset of the co-processor. */
carrysave_status carrysave_uart_reset(carrysave_uart *link);

/* Ask whether memory has started: CARRYSAVE_UNSTARTED if not, and all jobs are refused so. */
carrysave_status carrysave_uart_started(carrysave_uart *link);

/* Access bytes of memory. CARRYSAVE_BAD_ADDRESS: there are none; CARRYSAVE_SILENT: it does not
 * answer; CARRYSAVE_UNSTARTED: it has not started. After an error, what is written may be
 * anything. */
carrysave_status carrysave_uart_read(carrysave_uart *link, uint32_t address, void *bytes,
                                     uint32_t count);
carrysave_status carrysave_uart_write(carrysave_uart *link, uint32_t address, const void *bytes,
                                      uint32_t count);
carrysave_status carrysave_uart_zero(carrysave_uart *link, uint32_t address, uint32_t count);

/* Have memory that is `here`, in whole beats, at address 0 of the device, as carrysave_program_run
 * takes it: all of it is written now, or comes from flash that has just that; before a start what
 * was changed of its job's matrices, and after it C is read. `there` is room for as many bytes, in
 * which what the device has is noted. */
carrysave_status carrysave_uart_place(carrysave_uart *link, uint8_t *here, uint8_t *there,
                                      uint32_t bytes);

/* Write what was changed of some bytes that are placed; read them. */
void carrysave_uart_clean(carrysave_uart *link, uint64_t address, uint64_t bytes);
void carrysave_uart_fetch(carrysave_uart *link, uint64_t address, uint64_t bytes);

/* Access a register; after a failure 0, and nothing. */
uint32_t carrysave_uart_get(carrysave_uart *link, uint32_t offset);
void carrysave_uart_put(carrysave_uart *link, uint32_t offset, uint32_t value);

#define CARRYSAVE_UART(device) ((carrysave_uart *)(device)->context)
#define CARRYSAVE_READ(device, offset) carrysave_uart_get(CARRYSAVE_UART(device), offset)
#define CARRYSAVE_WRITE(device, offset, value) \
    carrysave_uart_put(CARRYSAVE_UART(device), offset, value)
#define CARRYSAVE_BARRIER(device) ((void)(device))
#define CARRYSAVE_CLEAN(device, address, bytes) \
    carrysave_uart_clean(CARRYSAVE_UART(device), address, bytes)
#define CARRYSAVE_INVALIDATE(device, address, bytes) \
    carrysave_uart_fetch(CARRYSAVE_UART(device), address, bytes)
#define CARRYSAVE_RING 0
#define CARRYSAVE_BROKEN(device) (CARRYSAVE_UART(device)->failed)
#define CARRYSAVE_WHY(device) \
    (CARRYSAVE_UART(device)->unstarted ? CARRYSAVE_UNSTARTED : CARRYSAVE_LINK)
#define CARRYSAVE_MEND(device) \
    (!CARRYSAVE_BROKEN(device) || carrysave_uart_reset(CARRYSAVE_UART(device)) == CARRYSAVE_OK)

#ifdef __cplusplus
}
#endif

#endif
